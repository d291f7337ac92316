// Command devserver is Temporal's server in one process: all four services, persistence and visibility in one
// SQLite file, and the web UI. It is a module of its own because the server and the newest SDK need different
// versions of Temporal's API module, which cannot both be in one build.
//
// It understands those flags of `temporal server start-dev` that the project uses, under the same names, and
// ignores these two words in front of them, so that one command line starts either server. It differs where a
// refund must not depend on a development default:
//
//   - A namespace keeps closed runs for ten years, not for one day: a request id stays bound to its parameters
//     as long as its run is kept (I9). An existing namespace is corrected at each start.
//   - The file is in WAL mode with synchronous=FULL, so that an acknowledged commit survives a loss of power.
//   - The schema is created in one transaction: a server killed during its first start leaves an empty file.
//   - Two servers cannot be started on the same file.
//   - "ready ADDRESS" is printed on standard output once a workflow can start and be found by its search attributes.
//   - Nothing leaves the machine: no version check, no news in the UI.
//
// It stops on SIGTERM and SIGINT with exit code 0; every failure is one line on standard error and exit code 1.
package main
