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

// Duties of the source, in the order of the report.
const (
	dutyRules     = "vocabulary and rules"
	dutyCalls     = "calls to the outside world"
	dutyFlow      = "the flow and its steps"
	dutyRecord    = "recording facts"
	dutyOwnership = "ownership, recovery, waking up"
	dutyDecisions = "decisions and settlements"
	dutyNotices   = "notices"
	dutyReading   = "requesting, reading, listing"
	dutyCommands  = "commands"
	dutyWorld     = "the outside world, simulated"
	dutySuite     = "fault suite, judge and report"
	dutyServers   = "building and running servers"
)

var dutyOrder = []string{
	dutyRules, dutyCalls, dutyFlow, dutyRecord, dutyOwnership, dutyDecisions, dutyNotices, dutyReading, dutyCommands,
	dutyWorld, dutySuite, dutyServers,
}

// Owners of the source: a user of that engine writes it, it serves both, or it exists for trials only.
const (
	temporal   = "temporal"
	handrolled = "handrolled"
	shared     = "shared"
	apparatus  = "apparatus"
)

// owned says for which duty a package, or a single file of one, is there, and whose it is. A file falls under its longest
// prefix.
var owned = map[string]struct{ duty, owner string }{
	"refund":   {dutyRules, shared},
	"provider": {dutyCalls, shared},

	"activities":              {dutyFlow, temporal},
	"activities/notice.go":    {dutyNotices, temporal},
	"workflows":               {dutyFlow, temporal},
	"workflows/account.go":    {dutyRecord, temporal},
	"workflows/record.go":     {dutyRecord, temporal},
	"workflows/worker.go":     {dutyOwnership, temporal},
	"workflows/decision.go":   {dutyDecisions, temporal},
	"workflows/door.go":       {dutyDecisions, temporal},
	"workflows/settlement.go": {dutyDecisions, temporal},

	"workflows/client.go":        {dutyReading, temporal},
	"workflows/client_decide.go": {dutyReading, temporal},
	"workflows/client_read.go":   {dutyReading, temporal},
	"workflows/dial.go":          {dutyReading, temporal},
	"workflows/fold.go":          {dutyReading, temporal},
	"workflows/history.go":       {dutyReading, temporal},
	"workflows/show.go":          {dutyReading, temporal},

	"handrolled":                {dutyFlow, handrolled},
	"handrolled/journal.go":     {dutyRecord, handrolled},
	"handrolled/record.go":      {dutyRecord, handrolled},
	"handrolled/schema.sql":     {dutyRecord, handrolled},
	"handrolled/store.go":       {dutyRecord, handrolled},
	"handrolled/transaction.go": {dutyRecord, handrolled},
	"handrolled/changes.go":     {dutyOwnership, handrolled},
	"handrolled/executor.go":    {dutyOwnership, handrolled},
	"handrolled/lease.go":       {dutyOwnership, handrolled},
	"handrolled/decide.go":      {dutyDecisions, handrolled},
	"handrolled/settle.go":      {dutyDecisions, handrolled},
	"handrolled/outbox.go":      {dutyNotices, handrolled},
	"handrolled/relay.go":       {dutyNotices, handrolled},
	"handrolled/client.go":      {dutyReading, handrolled},
	"handrolled/intake.go":      {dutyReading, handrolled},
	"handrolled/load.go":        {dutyReading, handrolled},

	"cmd/internal":           {dutyCommands, shared},
	"cmd/starter":            {dutyCommands, shared},
	"cmd/worker":             {dutyCommands, shared},
	"cmd/worker/journal.go":  {dutyCommands, handrolled},
	"cmd/worker/temporal.go": {dutyCommands, temporal},

	"cmd/provider":    {dutyWorld, apparatus},
	"provider/ledger": {dutyWorld, apparatus},
	"provider/server": {dutyWorld, apparatus},
	"cmd/lab":         {dutySuite, apparatus},
	"comparison":      {dutySuite, apparatus},
	"controls":        {dutySuite, apparatus},
	"evidence":        {dutySuite, apparatus},
	"faults":          {dutySuite, apparatus},
	"model":           {dutySuite, apparatus},
	"binaries":        {dutyServers, apparatus},
	"devserver":       {dutyServers, apparatus},
	"temporalserver":  {dutyServers, apparatus},
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
