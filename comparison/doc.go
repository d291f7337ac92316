// Package comparison is the judge of the fault suite. It reads evidence files and nothing else, decides for each cell of
// the expected matrix what its trial shows, measures the columns of the report from the same files, and writes the report.
// It knows no engine, and it uses the words of package refund but none of its rules: a rule that both engines and their
// judge shared could be wrong without anyone seeing it. The check MODEL stands beside the others for the opposite reason: it
// walks what was recorded through the rules themselves, by package model, so that model and code cannot drift apart.
//
// Judging is a pure function of the evidence and the matrix. It reads no clock, so that evidence that was kept can be
// judged again by a newer judge, and gives the same report byte for byte under the same one.
package comparison
