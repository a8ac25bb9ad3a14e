//go:build !race

package fasthttputil_test

const raceEnabled = false
