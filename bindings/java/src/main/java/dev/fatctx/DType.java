package dev.fatctx;

/** The type of the elements of a tensor. */
public enum DType {
    F32(1, 32),
    F64(2, 64),
    F16(3, 16),
    BF16(4, 16),
    I8(5, 8),
    I16(6, 16),
    I32(7, 32),
    I64(8, 64),
    U8(9, 8),
    U16(10, 16),
    U32(11, 32),
    U64(12, 64),
    BOOL(13, 8),
    I4(14, 4),
    U4(15, 4),
    UNKNOWN(0, 0);

    private final int number;
    private final int bits;

    DType(int number, int bits) {
        this.number = number;
        this.bits = bits;
    }

    static DType of(long number) {
        for (DType type : values()) {
            if (type.number == number) return type;
        }
        return UNKNOWN;
    }

    /** Returns the bits that an element takes. */
    public int bits() {
        return bits;
    }
}
