package main

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// A tag is the name of an oddity of inputs.
type tag struct {
	name string
	is   func(in string) bool
}

func tagsOf(list ...tag) func(in string) []string {
	return func(in string) []string {
		var found []string
		for _, t := range list {
			if t.is(in) {
				found = append(found, t.name)
			}
		}
		return found
	}
}

func matches(pattern string) func(string) bool { return regexp.MustCompile(pattern).MatchString }

// authority returns the text between "//" and the path.
func authority(in string) string {
	before, rest, ok := strings.Cut(in, "//")
	if !ok || before != "" && !strings.HasSuffix(before, ":") {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

func ofAuthority(pattern string) func(string) bool {
	find := regexp.MustCompile(pattern)
	return func(in string) bool { return find.MatchString(authority(in)) }
}

var badAddress = func(in string) bool {
	host := authority(in)
	return strings.ContainsAny(host, "[]") && !matches(`^([^\[\]@]*@)?\[[0-9A-Fa-f:.]+\](:[0-9]*)?$`)(host)
}

var (
	control = tag{"control", matches(`[\x00-\x1f\x7f]`)}

	badPort = tag{"port", func(in string) bool {
		host := authority(in)
		host = host[strings.LastIndexAny(host, "@]")+1:]
		_, port, found := strings.Cut(host, ":")
		n, err := strconv.ParseUint("0"+port, 10, 16)
		return found && (err != nil || n > 65535)
	}}

	targetTags = tagsOf(
		tag{"half-escape", matches(`%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)`)},
		tag{"outside", matches(`[?#].*[^!#-;=?-Z_a-z~\[\]]`)},
		tag{"late-scheme", matches(`^[^/:]*[?#].*://`)},
		badPort,
		tag{"host-byte", ofAuthority(`["<>]`)},
		tag{"host-escape", ofAuthority(`%`)},
		tag{"address", badAddress},
		tag{"at", ofAuthority(`@.*@`)},
	)

	referenceTags = tagsOf(
		control,
		tag{"empty-query", matches(`^[^#]*\?#`)},
		tag{"opaque", matches(`^[A-Za-z][A-Za-z0-9+.-]*:[^/]`)},
		tag{"no-scheme", func(in string) bool {
			scheme, _, found := strings.Cut(in, ":")
			return found && !strings.ContainsAny(scheme, "/?#") && !matches(`^[A-Za-z][A-Za-z0-9+.-]*$`)(scheme)
		}},
		tag{"no-uri", func(in string) bool { _, err := url.Parse(in); return err != nil }},
		tag{"half-escape", matches(`%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)`)},
		tag{"outside", matches(`[?#].*[^!#-;=?-Z_a-z~\[\]]`)},
		badPort,
		tag{"host-byte", ofAuthority(`["<>]`)},
		tag{"host-escape", ofAuthority(`%`)},
		tag{"address", badAddress},
		tag{"at", ofAuthority(`@.*@`)},
	)

	cookieTags = tagsOf(
		control,
		tag{"partitioned", matches(`(?i); *partitioned`)},
		tag{"other-date", func(in string) bool {
			for attribute := range strings.SplitSeq(in, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(attribute), "=")
				if strings.EqualFold(name, "expires") && !matches(`^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$`)(value) {
					return true
				}
			}
			return false
		}},
	)

	rangeTags  = tagsOf(tag{"past-int", matches(`[0-9]{19}`)})
	dateTags   = tagsOf(control, tag{"two-digit-year", matches(`day, ?[0-9]+-[A-Z][a-z]{2}-(69|[7-9][0-9]) `)})
	numberTags = tagsOf(tag{"separator", matches(`_`)})
	textTags   = tagsOf(control, tag{"space-last", matches(`[ \t](;|$)`)})
)
