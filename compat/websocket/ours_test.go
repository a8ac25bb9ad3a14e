package websocket

import "testing"

// TestOurPeers has this module in one role, or both.
func TestOurPeers(t *testing.T) {
	for _, s := range ours {
		for _, c := range append(foreignClients[:len(foreignClients):len(foreignClients)], ourClient) {
			exercisePair(t, c, s)
		}
	}
	for _, s := range foreignServers {
		for _, c := range ourClients {
			exercisePair(t, c, s)
		}
	}
}

func TestProbesOfServers(t *testing.T) {
	for _, s := range ours {
		for _, p := range []probe{{patience: patience}, {patience: patience, bytewise: true}} {
			t.Run(s.name+"/bytewise="+onOff(p.bytewise), func(t *testing.T) {
				t.Parallel()
				addr := s.start(t, options{compress: true})
				checkServer(t, p, addr, func(name string, err error) { t.Errorf("%s: %v", name, err) })
			})
		}
	}
}
