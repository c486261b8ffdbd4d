package dev.fatctx;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The read-only bytes of a record or of a tensor, where they are mapped.
 *
 * <p>Every buffer of {@link #bytes()} keeps the bytes mapped, and so does every slice and duplicate of it: after the view,
 * the container and everything else is closed. They are unmapped when the garbage collector has found that nothing refers
 * to them. So no close can make a buffer invalid. {@link #close()} only gives up the share of the view itself.
 */
public class View implements AutoCloseable {
    private static final int SIZE = 0;
    private static final int RECORD_ID = 1;
    private static final int ACCESS_PATH = 2;
    private static final int COPIED_BYTES = 3;

    final Handle handle;
    private final long[] facts;

    View(long id) {
        handle = new Handle("view", id, Native::closeView);
        handle.enter();
        try {
            facts = Native.describeView(id);
        } finally {
            handle.leave();
        }
    }

    /** Returns the number of bytes. */
    public final long size() {
        return facts[SIZE];
    }

    /** Returns the id of the record; 0 for a tensor. */
    public final int recordId() {
        return (int) facts[RECORD_ID];
    }

    /** Returns how the view was made: "direct" for pages of the file. */
    public final String accessPath() {
        return Texts.of(Native.accessPathName((int) facts[ACCESS_PATH]));
    }

    /** Returns the bytes of memory that are shown instead of pages of the file. */
    public final long copiedBytes() {
        return facts[COPIED_BYTES];
    }

    /**
     * Returns all bytes. A buffer counts with an int: a view of 2 GiB or more is read in parts.
     *
     * <p>The order is little-endian, as in the file. Slices and duplicates of a buffer are big-endian again, as Java has
     * it.
     */
    public final ByteBuffer bytes() {
        if (size() > Integer.MAX_VALUE) {
            throw FatctxException.refusal(
                    ErrorCode.LIMIT_EXCEEDED,
                    "the view has " + size() + " bytes, and a buffer at most " + Integer.MAX_VALUE
                            + "; call bytes(offset, size) for parts of it");
        }
        return bytes(0, (int) size());
    }

    /** Returns `size` bytes from `offset` on. */
    public final ByteBuffer bytes(long offset, int size) {
        if (offset < 0 || size < 0 || offset > size() - size) {
            throw FatctxException.refusal(
                    ErrorCode.INVALID_ARGUMENT,
                    size + " bytes from " + offset + " are not inside the " + size() + " bytes of the view");
        }
        ByteBuffer shown = size == 0 ? ByteBuffer.allocateDirect(0) : mapped(offset, size);
        // A read-only buffer holds the one that it was made of, on Java and on Android. So does everything made of it.
        return shown.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }

    private ByteBuffer mapped(long offset, int size) {
        long copy = copy();
        try {
            ByteBuffer made = Native.viewBytes(copy, offset, size);
            Cleaner.whenUnreachable(made, () -> Native.closeView(copy));
            return made;
        } catch (Throwable failed) {
            Native.closeView(copy);
            throw failed;
        }
    }

    private long copy() {
        long id = handle.enter();
        try {
            return Native.copyView(id);
        } finally {
            handle.leave();
        }
    }

    /** Gives up the share of this view. Its buffers stay valid. Closing twice does nothing. */
    @Override
    public final void close() {
        handle.close();
    }
}
