package main

import "fmt"

func (p *playground) printTour() {
	server, ui := p.address()+", your own server", "of your own server"
	if p.server != nil {
		ui = p.server.UIAddress()
		server = fmt.Sprintf("%s (pid %d), UI %s", p.address(), p.server.Pid(), ui)
	}
	fmt.Fprintf(p.out, `ready %[1]s

  provider   %[2]s (pid %[9]d), profile %[3]s
  temporal   %[4]s
  workers    %[10]s (pid %[11]d), %[12]s (pid %[13]d); logs beside the data
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

6. Kill both workers while two refunds wait for a person, and decide meanwhile. The journal gives its verdict at once; Temporal
   has stored the decision, answers VERDICT_PENDING (exit status 6), and makes the verdict when there is a worker again.

  ./%[7]s request --tenant shop --request-id t-2 --order o1 --amount 10.00 --currency EUR --reason "a part is missing" --requester alice --profile %[3]s
  ./%[8]s  request --tenant shop --request-id j-2 --order o2 --amount 10.00 --currency EUR --reason "a part is missing" --requester alice --profile %[3]s
  ./%[7]s watch --tenant shop --request-id t-2 --until APPROVAL_REQUIRED
  ./%[8]s  watch --tenant shop --request-id j-2 --until APPROVAL_REQUIRED
  kill -9 %[11]d %[13]d
  ./%[7]s approve --tenant shop --request-id t-2 --as bob --decision-id d-t-2 --wait 2s
  ./%[8]s  approve --tenant shop --request-id j-2 --as bob --decision-id d-j-2

   Start new workers, each in a terminal of its own, where Ctrl-C ends it; then ask again under the same decision id.

  ./%[14]s
  ./%[15]s
  ./%[7]s approve --tenant shop --request-id t-2 --as bob --decision-id d-t-2
  ./%[7]s watch --tenant shop --request-id t-2
  ./%[8]s  watch --tenant shop --request-id j-2

7. Every durable fact of a run, in the same form for both engines.

  ./%[7]s export --tenant shop --request-id t-1
  ./%[8]s  export --tenant shop --request-id j-1

8. The flow in Temporal's UI: %[5]s

Every command explains itself with --help and speaks JSON with --json. Ctrl-C here ends
everything but the workers that you started yourself.
`, p.dir, p.provider, p.profile, server, ui, quoted(p.dir), onTemporal, onJournal,
		p.children.Pid(providerName), temporalName, p.children.Pid(temporalName), journalName, p.children.Pid(journalName),
		temporalWorker, journalWorker)
}
