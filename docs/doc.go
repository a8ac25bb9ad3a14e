// Package docs checks the documentation against the code. It has tests only: Go code in
// documents and in the comments of packages compiles, links and named tests exist, figures in
// sentences are those of the code and of the measurements, the reasons for which this
// module differs from v1.77.0 are complete, every exported name has a comment, the calls of the
// root package that programs need most have an example, and comments and documents use plain
// phrases.
package docs
