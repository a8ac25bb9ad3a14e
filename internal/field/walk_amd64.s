//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// Constants of 32 equal bytes: a colon, and the ends of the control characters.
DATA colons<>+0(SB)/8, $0x3a3a3a3a3a3a3a3a
DATA colons<>+8(SB)/8, $0x3a3a3a3a3a3a3a3a
DATA colons<>+16(SB)/8, $0x3a3a3a3a3a3a3a3a
DATA colons<>+24(SB)/8, $0x3a3a3a3a3a3a3a3a
GLOBL colons<>(SB), RODATA|NOPTR, $32
DATA lowest<>+0(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA lowest<>+8(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA lowest<>+16(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA lowest<>+24(SB)/8, $0x1f1f1f1f1f1f1f1f
GLOBL lowest<>(SB), RODATA|NOPTR, $32
DATA highest<>+0(SB)/8, $0x7f7f7f7f7f7f7f7f
DATA highest<>+8(SB)/8, $0x7f7f7f7f7f7f7f7f
DATA highest<>+16(SB)/8, $0x7f7f7f7f7f7f7f7f
DATA highest<>+24(SB)/8, $0x7f7f7f7f7f7f7f7f
GLOBL highest<>(SB), RODATA|NOPTR, $32
DATA spaces<>+0(SB)/8, $0x2020202020202020
GLOBL spaces<>(SB), RODATA|NOPTR, $8
DATA letters<>+0(SB)/8, $0x4040404040404040
GLOBL letters<>(SB), RODATA|NOPTR, $8
DATA keepAlive<>+0(SB)/8, $"keep-ali"
GLOBL keepAlive<>(SB), RODATA|NOPTR, $8
DATA factor<>+0(SB)/8, $const_slotFactor
GLOBL factor<>(SB), RODATA|NOPTR, $8

// The first value that is not a colon, a space and a byte that can begin a value, counted
// from the least such value, in big-endian words; the same for the end of a value.
#define SPAN 0xdf00

// func appendLines(w *Walk, entries []Entry) (n int)
//
// Positions count from SI, the text. AX is the line, CX the size of its name, R8 its colon,
// R9 the end of its value, R13 the id. R11 is the place of the next entry. A line may begin
// at DI at the latest, and end at DX.
TEXT ·appendLines(SB), NOSPLIT, $0-40
	MOVQ w+0(FP), BX
	MOVQ Walk_Text+0(BX), SI
	MOVQ Walk_Text+8(BX), DX
	MOVQ Walk_last(BX), DI
	MOVQ Walk_At(BX), AX
	MOVQ Walk_Until(BX), R8
	SUBQ $3, DX
	// 32 bytes for a name and the three after it
	SUBQ $3, DI
	DECQ R8
	CMPQ R8, DI
	CMOVQLT R8, DI

	MOVQ entries_base+8(FP), R12
	MOVQ entries_len+16(FP), R10
	LEAQ (R10)(R10*4), R10
	LEAQ (R12)(R10*4), R11

	// the word before the end of a name is read, even if it begins before the name
	MOVB $const_LeftLine, Walk_Left(BX)
	CMPQ AX, $8
	JLT done
	VMOVDQU colons<>(SB), Y0
	VMOVDQU lowest<>(SB), Y1
	VMOVDQU highest<>(SB), Y2

line:
	CMPQ AX, DI
	JGT done
	VPCMPEQB (SI)(AX*1), Y0, Y3
	VPMOVMSKB Y3, CX
	TZCNTL CX, CX
	LEAL -1(CX), R8
	CMPL R8, $31
	JCC done
	LEAQ (AX)(CX*1), R8
	MOVL (SI)(R8*1), R9
	BSWAPL R9
	SUBL $0x3a202100, R9
	CMPL R9, $SPAN
	JCC done
	LEAQ 2(R8), R9

value:
	CMPQ R9, Walk_last(BX)
	JGT done
	VMOVDQU (SI)(R9*1), Y3
	VPMINUB Y3, Y1, Y4
	VPCMPEQB Y3, Y4, Y4
	VPCMPEQB Y3, Y2, Y3
	VPOR Y3, Y4, Y3
	VPMOVMSKB Y3, R10
	ADDQ $32, R9
	TESTL R10, R10
	JZ value
	TZCNTL R10, R10
	LEAQ -32(R9)(R10*1), R9
	CMPQ R9, DX
	JGT done
	// the last byte of the value, CRLF, and the byte after it
	MOVL -1(SI)(R9*1), R10
	ROLL $8, R10
	LEAL -0x0a0d2100(R10), R12
	CMPL R12, $SPAN
	JCC done
	CMPB R10, $0x20
	JHI ended
	JEQ done
	CMPB R10, $0x09
	JEQ done

ended:
	// the ends of the name
	MOVQ (SI)(AX*1), R10
	LEAL (CX*8), R12
	BZHIQ R12, R10, R10
	MOVQ R10, R12
	CMPL CX, $8
	CMOVQCC -8(SI)(R8*1), R12
	// its slot
	MOVQ R12, R13
	ROLQ $24, R13
	XORQ R10, R13
	ORQ spaces<>(SB), R13
	XORQ CX, R13
	IMULQ factor<>(SB), R13
	SHRQ $(64-const_slotBits), R13
	LEAQ ·slots(SB), R14
	MOVBLZX (R14)(R13*1), R13
	LEAQ ·ends(SB), R14
	MOVQ R13, R15
	SHLQ $4, R15
	CMPQ R10, (R14)(R15*1)
	JNE name
	CMPQ R12, 8(R14)(R15*1)
	JNE name
	CMPL CX, $16
	JHI middle

known:
	INCQ Walk_Lines(BX)
	MOVQ Walk_Effects(BX), R14
	MOVBLZX (R14)(R13*1), R15
	ADDQ $2, R8
	TESTL R15, R15
	JNE effect

entry:
	SUBQ $1, Walk_room(BX)
	JCS leave
	MOVL AX, Entry_Name(R11)
	MOVL CX, (Entry_Name+4)(R11)
	MOVL R8, Entry_Value(R11)
	LEAQ 2(R9), AX
	SUBL R8, R9
	MOVL R9, (Entry_Value+4)(R11)
	// the id, and no flags
	MOVL R13, Entry_ID(R11)
	ADDQ $const_entrySize, R11
	JMP line

effect:
	CMPL R15, $const_Slots
	JHI noted
	LEAQ (Walk_Slots-8)(BX)(R15*8), R14
	CMPL 4(R14), $0
	JNE leave
	MOVL R8, (R14)
	LEAQ 2(R9), AX
	SUBL R8, R9
	MOVL R9, 4(R14)
	JMP line

noted:
	CMPL R15, $const_EffectCookie
	JNE connection
	ORB $const_HasCookie, Walk_Effective(BX)
	JMP entry

connection:
	CMPL R15, $const_EffectConnection
	JNE leave
	MOVL R9, R15
	SUBL R8, R15
	CMPL R15, $10
	JNE leave
	MOVQ keepAlive<>+0(SB), R14
	CMPQ R14, (SI)(R8*1)
	JNE leave
	CMPW 8(SI)(R8*1), $0x6576
	JNE leave
	ORB $const_HasKeepAlive, Walk_Effective(BX)
	JMP entry

middle:
	// HasMiddle
	LEAQ ·table(SB), R14
	LEAQ (R13)(R13*4), R15
	SHLQ $3, R15
	ADDQ R15, R14
	MOVQ 8(SI)(AX*1), R15
	CMPQ R15, known_second(R14)
	JNE name
	MOVQ -16(SI)(R8*1), R15
	CMPQ R15, known_third(R14)
	JNE name
	CMPQ CX, known_size(R14)
	JEQ known

name:
	// it may be a known name in another case: as in LookupWords. Such bytes differ in the
	// bit 0x20 alone, where the known one has a letter
	MOVQ R10, Walk_First(BX)
	MOVQ R12, Walk_Last(BX)
	CMPB Walk_KeepNames(BX), $0
	JNE leaveName
	LEAQ ·table(SB), R14
	LEAQ ·ends(SB), R10
	LEAQ (R13)(R13*4), R15
	SHLQ $3, R15
	ADDQ R15, R14
	CMPQ CX, known_size(R14)
	JNE leaveName
	MOVQ R13, R15
	SHLQ $4, R15
	ADDQ R15, R10
	MOVQ Walk_First(BX), R12
	XORQ (R10), R12
	MOVQ R12, R15
	ORQ known_fold(R14), R15
	CMPQ R15, known_fold(R14)
	JNE leaveName
	MOVQ Walk_Last(BX), R15
	XORQ 8(R10), R15
	ORQ (known_fold+8)(R14), R15
	CMPQ R15, (known_fold+8)(R14)
	JNE leaveName
	CMPL CX, $16
	JHI foldMiddle
	CMPL CX, $8
	JCS foldShort

foldEnds:
	MOVQ (R10), R15
	MOVQ R15, (SI)(AX*1)
	MOVQ 8(R10), R15
	MOVQ R15, -8(SI)(R8*1)
	JMP known

foldShort:
	// nothing is written after the text: no known name has one byte alone, and a line with
	// two, and the byte after it, have eight
	XORQ R12, (SI)(AX*1)
	JMP known

foldMiddle:
	MOVQ known_second(R14), R12
	MOVQ R12, R15
	ANDQ letters<>(SB), R12
	SHRQ $1, R12
	XORQ 8(SI)(AX*1), R15
	ORQ R12, R15
	CMPQ R15, R12
	JNE leaveName
	MOVQ known_third(R14), R12
	MOVQ R12, R15
	ANDQ letters<>(SB), R12
	SHRQ $1, R12
	XORQ -16(SI)(R8*1), R15
	ORQ R12, R15
	CMPQ R15, R12
	JNE leaveName
	MOVQ known_second(R14), R15
	MOVQ R15, 8(SI)(AX*1)
	MOVQ known_third(R14), R15
	MOVQ R15, -16(SI)(R8*1)
	JMP foldEnds

leave:
	DECQ Walk_Lines(BX)
	MOVB $const_LeftEffect, Walk_Left(BX)
	MOVB R13, Walk_ID(BX)
	JMP left

leaveName:
	MOVB $const_LeftName, Walk_Left(BX)

left:
	MOVQ CX, Walk_Size(BX)
	MOVQ R9, Walk_Stop(BX)

done:
	MOVQ AX, Walk_At(BX)
	MOVQ entries_len+16(FP), R10
	LEAQ (R10)(R10*4), R10
	MOVQ entries_base+8(FP), R12
	LEAQ (R12)(R10*4), R10
	SUBQ R10, R11
	MOVQ R11, n+32(FP)
	VZEROUPPER
	RET
