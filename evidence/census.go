package evidence

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// owned says for which duty a package, or a single file of one, is there, and whose it is: "temporal" and "handrolled" are
// what a user of that engine writes, "shared" serves both, "apparatus" exists for trials only. A file falls under its
// longest prefix.
var owned = map[string]struct{ duty, owner string }{
	"refund": {"vocabulary and rules", "shared"},

	"provider":        {"calls to the outside world", "shared"},
	"provider/ledger": {"the outside world, simulated", "apparatus"},
	"provider/server": {"the outside world, simulated", "apparatus"},
	"cmd/provider":    {"the outside world, simulated", "apparatus"},

	"activities": {"steps with effects", "temporal"},
	"workflows":  {"driving, recording and recovering a run", "temporal"},
	"handrolled": {"driving, recording and recovering a run", "handrolled"},

	"cmd/worker":  {"commands", "shared"},
	"cmd/starter": {"commands", "shared"},
	"cmd/lab":     {"fault suite, judge and report", "apparatus"},

	"faults":         {"fault suite, judge and report", "apparatus"},
	"comparison":     {"fault suite, judge and report", "apparatus"},
	"evidence":       {"fault suite, judge and report", "apparatus"},
	"binaries":       {"building and running servers", "apparatus"},
	"temporalserver": {"building and running servers", "apparatus"},
	"devserver":      {"building and running servers", "apparatus"},
}

// dutyOrder is the order of the report.
var dutyOrder = []string{
	"vocabulary and rules", "calls to the outside world", "steps with effects", "driving, recording and recovering a run", "commands",
	"the outside world, simulated", "fault suite, judge and report", "building and running servers",
}

// CountLines counts the source below root, one Lines for each directory and duty, in the order of duties and names. What is
// under no known duty, such as tools, is left out.
func CountLines(root string) ([]Lines, error) {
	counts := map[string]*Lines{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file := filepath.ToSlash(relative)
		if entry.IsDir() {
			if base := path.Base(file); base == "testdata" || file != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		}
		duty, owner, known := dutyOf(file)
		if ext := path.Ext(file); !known || ext != ".go" && ext != ".sql" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		key := path.Dir(file) + "\x00" + duty + "\x00" + owner
		if counts[key] == nil {
			counts[key] = &Lines{Package: path.Dir(file), Duty: duty, Owner: owner}
		}
		code, comment := countSource(file, text)
		if strings.HasSuffix(file, "_test.go") {
			counts[key].Test += code
			return nil
		}
		counts[key].Files++
		counts[key].Code += code
		counts[key].Comment += comment
		return nil
	})
	list := make([]Lines, 0, len(counts))
	for _, lines := range counts {
		list = append(list, *lines)
	}
	rank := map[string]int{}
	for i, duty := range dutyOrder {
		rank[duty] = i
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Duty != b.Duty {
			return rank[a.Duty] < rank[b.Duty]
		}
		return a.Package < b.Package
	})
	return list, err
}

// dutyOf finds the longest prefix of a file's path that has a duty.
func dutyOf(file string) (duty, owner string, known bool) {
	for prefix := file; prefix != "."; prefix = path.Dir(prefix) {
		if found, ok := owned[prefix]; ok {
			return found.duty, found.owner, true
		}
	}
	return "", "", false
}

// countSource counts lines that hold code, and lines that hold nothing but comment.
func countSource(file string, text []byte) (code, comment int) {
	if path.Ext(file) == ".sql" {
		for _, line := range strings.Split(string(text), "\n") {
			switch line = strings.TrimSpace(line); {
			case line == "":
			case strings.HasPrefix(line, "--"):
				comment++
			default:
				code++
			}
		}
		return code, comment
	}
	files := token.NewFileSet()
	source := files.AddFile(file, files.Base(), len(text))
	var s scanner.Scanner
	s.Init(source, text, func(token.Position, string) {}, scanner.ScanComments) // what does not compile is counted as it stands
	codeLines, commentLines := map[int]bool{}, map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.SEMICOLON && literal == "\n" { // put in by the scanner
			continue
		}
		lines := codeLines
		if kind == token.COMMENT {
			lines = commentLines
		}
		first := source.Line(at)
		for i := range strings.Count(literal, "\n") + 1 {
			lines[first+i] = true
		}
	}
	for line := range commentLines {
		if !codeLines[line] {
			comment++
		}
	}
	return len(codeLines), comment
}
