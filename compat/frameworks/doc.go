// Package frameworks is a small framework as its maintainers would write it: it compiles with
// this module and with v1.77.0, and sets fields that only this module has by the methods beside
// them. Its tests run with both.
package frameworks
