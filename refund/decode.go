package refund

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// DecodeStrict reads exactly one JSON object into v. Unlike encoding/json alone it refuses a key that stands twice, a key
// that v does not have, and anything behind the object: a body that two readers could understand in
// two ways is not read at all.
//
// Errors: INVALID_BODY.
func DecodeStrict(body []byte, v any) error {
	if err := checkKeys(body); err != nil {
		return Errorf(CodeInvalidBody, "JSON is not acceptable: %v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return Errorf(CodeInvalidBody, "JSON does not have the expected form: %v", err)
	}
	return nil
}

// checkKeys walks the tokens of one object and refuses repeated keys and trailing data.
func checkKeys(body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	first, err := decoder.Token()
	if err != nil {
		return truncated(err)
	}
	if first != json.Delim('{') {
		return errors.New("an object is expected")
	}
	if err := walkObject(decoder); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is something behind the object")
	}
	return nil
}

func walkObject(decoder *json.Decoder) error {
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return truncated(err)
		}
		key, _ := token.(string)
		if folded := string(bytes.ToLower([]byte(key))); seen[folded] {
			return fmt.Errorf("the key %q stands twice", clip(key))
		} else {
			seen[folded] = true
		}
		if err := walkValue(decoder); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return truncated(err)
}

func walkValue(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return truncated(err)
	}
	switch token {
	case json.Delim('{'):
		return walkObject(decoder)
	case json.Delim('['):
		for decoder.More() {
			if err := walkValue(decoder); err != nil {
				return err
			}
		}
		_, err := decoder.Token()
		return truncated(err)
	}
	return nil
}

func truncated(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut off")
	}
	return err
}
