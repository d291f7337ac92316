// Package handrolled is a durable executor written by hand on one SQLite file, for one process or many. It is a loop over a
// journal: claim a run that is due, let the shared rules say what comes next, make the intent durable, call, record what
// was seen, go on. Nothing is kept in memory between two steps that is not in the file, so a worker that dies at any
// line is replaced by one that reads the file.
//
// What the file guarantees, it guarantees by statements, not by care: every write of a run's owner carries its generation
// and the end of its lease and looks at the row count (I6); what may exist once is unique in the schema; outcome and
// notice are one transaction. Each guarantee stands in a comment at its line.
//
// The processes on one file share the host's clock. That is an assumption, not something the file can check.
package handrolled
