package comparison

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// instrument is one of the instruments beside the suite, and how the report shows the result that it left.
type instrument struct {
	name    string // of its command, and of its file
	section func(file []byte) (string, error)
}

// instruments in the order of the report.
var instruments = []instrument{
	{"model", shown(ModelSection)},
	{"power", shown(PowerSection)},
	{"controls", shown(ControlsSection)},
	{"explore", shown(ExplorationSection)},
	{"soak", shown(SoakSection)},
}

// shown reads a result strictly, so that one that an older program wrote is refused and not shown in part.
func shown[T any](write func(T) string) func([]byte) (string, error) {
	return func(file []byte) (string, error) {
		var result T
		decoder := json.NewDecoder(bytes.NewReader(file))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&result); err != nil {
			return "", err
		}
		return write(result), nil
	}
}

// Instruments writes the report's sections about the results that lie in a directory, NAME.json each, and names those that
// are missing: what was not run is said.
//
// Errors: a file that cannot be read, or is not such a result.
func Instruments(dir string) (string, error) {
	var sections strings.Builder
	var missing []string
	if _, err := os.Stat(filepath.Join(dir, "EXTENDED.md")); err == nil {
		sections.WriteString("## Scenarios that take longer\n\nLong silences, stepped clocks, and a server that is killed where a run first comes to each point have their cells, told in the same way, in [report/EXTENDED.md](report/EXTENDED.md) (`lab run --extended`).\n\n")
	} else {
		missing = append(missing, "`lab run --extended`")
	}
	for _, one := range instruments {
		file := filepath.Join(dir, one.name+".json")
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, "`lab "+one.name+"`")
			continue
		}
		if err != nil {
			return "", err
		}
		section, err := one.section(text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		sections.WriteString(section)
	}
	if len(missing) > 0 {
		sections.WriteString("## Not run\n\nThis report holds no result of " + strings.Join(missing, ", ") + ".\n")
	}
	return sections.String(), nil
}
