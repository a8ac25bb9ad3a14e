//go:build !purego

#include "textflag.h"

DATA lowest<>+0(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA lowest<>+8(SB)/8, $0x1f1f1f1f1f1f1f1f
GLOBL lowest<>(SB), RODATA|NOPTR, $16
DATA highest<>+0(SB)/8, $0x7f7f7f7f7f7f7f7f
DATA highest<>+8(SB)/8, $0x7f7f7f7f7f7f7f7f
GLOBL highest<>(SB), RODATA|NOPTR, $16

// func NextControl(b []byte, from int) int
//
// Sixteen bytes at a time, of which the last sixteen may overlap those before. b has
// at least sixteen, and from is at most len(b). SSE2 is part of every amd64.
TEXT ·NextControl(SB), NOSPLIT, $0-40
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), DX
	MOVQ from+24(FP), AX
	MOVOU lowest<>(SB), X0
	MOVOU highest<>(SB), X1
	LEAQ -16(DX), DI
	CMPQ AX, DI
	JGT last

loop:
	MOVOU (SI)(AX*1), X2
	MOVO X2, X3
	PMINUB X0, X3
	PCMPEQB X2, X3
	PCMPEQB X1, X2
	POR X2, X3
	PMOVMSKB X3, CX
	TESTL CX, CX
	JNZ found
	ADDQ $16, AX
	CMPQ AX, DI
	JLE loop

last:
	// the bits of the bytes before AX are shifted out
	MOVQ AX, CX
	SUBQ DI, CX
	MOVOU (SI)(DI*1), X2
	MOVO X2, X3
	PMINUB X0, X3
	PCMPEQB X2, X3
	PCMPEQB X1, X2
	POR X2, X3
	PMOVMSKB X3, BX
	SHRL CX, BX
	JNZ foundLast
	MOVQ DX, ret+32(FP)
	RET

foundLast:
	BSFL BX, BX
	ADDQ BX, AX
	MOVQ AX, ret+32(FP)
	RET

found:
	BSFL CX, CX
	ADDQ CX, AX
	MOVQ AX, ret+32(FP)
	RET
