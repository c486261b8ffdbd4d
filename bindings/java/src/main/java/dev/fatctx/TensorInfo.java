package dev.fatctx;

/** The facts of a tensor. */
public final class TensorInfo {
    private final long[] numbers;
    private final String name;
    private final long[] shape;
    private final long[] strides;

    TensorInfo(Object[] raw) {
        numbers = (long[]) raw[0];
        name = Texts.of((byte[]) raw[1]);
        shape = (long[]) raw[2];
        strides = (long[]) raw[3];
    }

    public String name() {
        return name;
    }

    public DType dtype() {
        return DType.of(numbers[0]);
    }

    /** Returns the elements per dimension, outermost first. */
    public long[] shape() {
        return shape.clone();
    }

    /** Returns the bytes from one element to the next; empty below a byte, for a scalar, and in a list of tensors. */
    public long[] strides() {
        return strides.clone();
    }

    public long offsetInBlob() {
        return numbers[1];
    }

    /** Returns the number of bytes. */
    public long size() {
        return numbers[2];
    }

    /** Says if it shares bytes with another tensor on purpose. */
    public boolean alias() {
        return numbers[3] != 0;
    }

    @Override
    public String toString() {
        return name + " " + dtype() + java.util.Arrays.toString(shape);
    }
}
