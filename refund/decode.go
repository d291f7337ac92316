package refund

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxDepth is more than any object of this project nests; it keeps a hostile body from growing the stack.
const maxDepth = 32

// DecodeStrict reads exactly one JSON object into v. Unlike encoding/json alone it refuses a key that stands twice, a key
// that v does not have, bytes that are not UTF-8, and anything behind the object: a body that two readers could understand
// in two ways is not read at all. Keys are compared exactly. encoding/json would match them in any case and by Unicode's
// folding ("rea\u017fon" is "reason" to it), so keys other than lower-case ASCII, the only ones in use here, are refused.
//
// Errors: INVALID_BODY.
func DecodeStrict(body []byte, v any) error {
	if !utf8.Valid(body) {
		return Errorf(CodeInvalidBody, "JSON is not acceptable: it is not valid UTF-8")
	}
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
	if err := walkObject(decoder, 1); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the object")
	}
	return nil
}

func walkObject(decoder *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return truncated(err)
		}
		key, _ := token.(string)
		switch {
		case strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
			return fmt.Errorf("the key %q is unknown: keys are lower-case", clip(key))
		case seen[key]:
			return fmt.Errorf("the key %q stands twice", clip(key))
		}
		seen[key] = true
		if err := walkValue(decoder, depth); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return truncated(err)
}

// walkValue walks a value inside an object or list at the given depth.
func walkValue(decoder *json.Decoder, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it nests deeper than %d levels", maxDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return truncated(err)
	}
	switch token {
	case json.Delim('{'):
		return walkObject(decoder, depth+1)
	case json.Delim('['):
		for decoder.More() {
			if err := walkValue(decoder, depth+1); err != nil {
				return err
			}
		}
		_, err := decoder.Token()
		return truncated(err)
	}
	return nil
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut off")
	}
	return err
}
