package refund

import "strings"

// MaxIdentity is the longest identity in bytes.
const MaxIdentity = 128

// ParseIdentity returns the one spelling of an identity: surrounding blanks removed, ASCII letters lower-cased, and only
// letters, digits and . _ @ + - inside. It is the comparison of these spellings that keeps "User-1 " from approving what
// "user-1" asked for (I5). what names the value in the error.
//
// Errors: INVALID_IDENTITY.
func ParseIdentity(what, value string) (string, error) {
	id := strings.Trim(value, " \t")
	switch {
	case id == "":
		return "", Errorf(CodeInvalidIdentity, "%s is empty: give an identity of letters, digits and . _ @ + -", what)
	case len(id) > MaxIdentity:
		return "", Errorf(CodeInvalidIdentity, "%s is %d bytes long: the limit is %d", what, len(id), MaxIdentity)
	}
	lower := []byte(id)
	for i, c := range lower {
		switch {
		case c >= 'A' && c <= 'Z':
			lower[i] = c + 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', strings.IndexByte("._@+-", c) >= 0:
		default:
			return "", Errorf(CodeInvalidIdentity, "%s %q has a character that identities do not have: only ASCII letters, digits and . _ @ + - are taken", what, clip(id))
		}
	}
	return string(lower), nil
}
