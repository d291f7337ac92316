package controls

// Settings of SQLite's synchronous that lose acknowledged commits when the power fails.
const (
	SynchronousNormal = "NORMAL" // the log is synced at checkpoints alone
	SynchronousOff    = "OFF"    // nothing ever is
)

// Synchronous takes FULL away from the journal and from the provider's ledger, and from where each reads back what it has. No
// scenario of the catalogue can show it: SIGKILL loses nothing that was written. The trials with a power failure must.
func Synchronous(setting string) Control {
	number := map[string]string{SynchronousNormal: "1", SynchronousOff: "0"}[setting]
	return Control{
		Name:        "synchronous-" + setting,
		Breaks:      "commits are not synced",
		Design:      "WAL with synchronous=" + setting + ", because it is faster",
		Executables: []string{"worker", "starter", "provider"},
		Replacements: []Replacement{
			{"handrolled/store.go", `{"synchronous", "2"}`, `{"synchronous", "` + number + `"}`},
			{"provider/server/store.go", `synchronous(FULL)`, `synchronous(` + setting + `)`},
			{"provider/server/store.go", `synchronous != 2`, `synchronous != ` + number},
		},
	}
}
