package comparison

import (
	"fmt"
	"strings"
)

// table is a Markdown table whose rows are data.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// merge joins rows that differ in one column only, so that what holds for several profiles is read once. Rows keep the place of
// the first.
func (t *table) merge(column int) {
	place := map[string]int{}
	var merged [][]string
	for _, row := range t.rows {
		rest := append(append([]string{}, row[:column]...), row[column+1:]...)
		key := strings.Join(rest, "\x00")
		if i, known := place[key]; known {
			merged[i][column] += ", " + row[column]
			continue
		}
		place[key] = len(merged)
		merged = append(merged, row)
	}
	t.rows = merged
}

// String writes the table, or "" when it has no rows.
func (t *table) String() string {
	if len(t.rows) == 0 {
		return ""
	}
	var b strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			if cell == "" {
				cell = "-"
			}
			b.WriteString("| " + strings.NewReplacer("|", "\\|", "\n", " ").Replace(cell) + " ")
		}
		b.WriteString("|\n")
	}
	line(t.head)
	b.WriteString(strings.Repeat("| --- ", len(t.head)) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
	return b.String() + "\n"
}

// milliseconds prints a duration, "" for none.
func milliseconds(ms int64) string {
	switch {
	case ms < 0:
		return ""
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.2f s", float64(ms)/1000)
}
