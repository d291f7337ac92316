package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"refundlab/refund"
)

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// writeIndented keeps "<", ">" and "&" as they are, because a person reads the files too.
func writeIndented(b *bytes.Buffer, v any) error {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(v)
}

// writeLines ends with a line that holds only the number of the lines before it: an empty list is a file with "0" in it, and
// differs from a file that was never written.
func writeLines[T any](b *bytes.Buffer, list []T) error {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	for _, item := range list {
		if err := encoder.Encode(item); err != nil {
			return err
		}
	}
	return encoder.Encode(len(list))
}

func readLines[T any](text []byte, list *[]T) error {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var count int
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &count); err != nil {
		return fmt.Errorf("it is cut off: the last line is not the number of lines")
	}
	if count != len(lines)-1 {
		return fmt.Errorf("it has %d lines and says %d", len(lines)-1, count)
	}
	*list = make([]T, count)
	for i := range *list {
		if err := json.Unmarshal([]byte(lines[i]), &(*list)[i]); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return nil
}

func splitPath(name string) []string { return strings.Split(name, "/") }

func cellAt(parts []string) Cell {
	return Cell{Scenario: parts[0], Engine: parts[1], Profile: refund.ProfileName(parts[2]), Arm: Arm(parts[3])}
}
