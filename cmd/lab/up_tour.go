package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"refundlab/binaries"
	"refundlab/refund"
)

// seedOrders are there from the start; a provider that has them already keeps what became of them.
const seedOrders = `[
  {"tenant": "shop", "id": "o1", "currency": "EUR", "captured_minor": 10000, "refunded_minor": 0, "version": 1},
  {"tenant": "shop", "id": "o2", "currency": "EUR", "captured_minor": 14505, "refunded_minor": 0, "version": 1},
  {"tenant": "shop", "id": "o3", "currency": "JPY", "captured_minor": 4200, "refunded_minor": 0, "version": 1}
]
`

// Names of the two scripts; each is the starter with the flags that reach one engine.
const (
	onTemporal = "on-temporal"
	onJournal  = "on-journal"
)

func (p *playground) writeScripts() error {
	starter := p.paths[binaries.Starter]
	for name, flags := range map[string][]string{
		onTemporal: {"--engine", "temporal", "--temporal-address", p.address()},
		onJournal:  {"--engine", "handrolled", "--journal", p.journal()},
	} {
		words := append([]string{"exec", quoted(starter)}, flags[:len(flags)-1]...)
		words = append(words, quoted(flags[len(flags)-1]), "--provider", p.provider, `"$@"`)
		script := "#!/bin/sh\n" + strings.Join(words, " ") + "\n"
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(script), 0o755); err != nil {
			return refund.Wrap(refund.CodeStoreUnreadable, err, "the script %s cannot be written", name)
		}
	}
	return nil
}

// quoted makes one word of a path for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

func (p *playground) printTour() {
	ui := "of your own server"
	if p.server != nil {
		ui = p.server.UIAddress()
	}
	fmt.Fprintf(p.out, `ready %[1]s

  provider   %[2]s (profile %[3]s)
  temporal   %[4]s, UI %[5]s
  workers    temporal-1, journal-1 (logs beside the data)
  orders     of tenant shop: o1 100.00 EUR, o2 145.05 EUR, o3 4200 JPY

In another terminal:

  cd %[6]s

1. Ask for a refund on each engine. The request id is your name for it: ask twice, and there is still one.
   Both engines pay through one provider, so the two requests have two names.

  ./%[7]s request --tenant shop --request-id t-1 --order o1 --amount 42.00 --currency EUR --reason "broken on arrival" --requester alice --profile %[3]s
  ./%[8]s  request --tenant shop --request-id j-1 --order o2 --amount 42.00 --currency EUR --reason "broken on arrival" --requester alice --profile %[3]s

2. The three facts: what the world did, what the engine knows, what it may do next.

  ./%[7]s status --tenant shop --request-id t-1
  ./%[8]s  status --tenant shop --request-id j-1

3. Who waits for a person? Then leave one watching in a third terminal.

  ./%[8]s  list --which waiting
  ./%[7]s watch --tenant shop --request-id t-1

4. Alice cannot approve what she asked for; Bob can, once. The approval names what was shown to him.

  ./%[7]s approve --tenant shop --request-id t-1 --as alice
  ./%[7]s approve --tenant shop --request-id t-1 --as bob
  ./%[8]s  approve --tenant shop --request-id j-1 --as bob
  ./%[8]s  reject  --tenant shop --request-id j-1 --as carol

5. The same name for something else is a conflict, and never the old answer.

  ./%[8]s  request --tenant shop --request-id j-1 --order o2 --amount 43.00 --currency EUR --reason "broken on arrival" --requester alice --profile %[3]s

6. Every durable fact of a run, in the same form for both engines.

  ./%[7]s export --tenant shop --request-id t-1
  ./%[8]s  export --tenant shop --request-id j-1

7. The flow in Temporal's UI: %[5]s

Every command explains itself with --help and speaks JSON with --json. Ctrl-C here ends everything.
`, p.dir, p.provider, p.profile, p.address(), ui, quoted(p.dir), onTemporal, onJournal)
}
