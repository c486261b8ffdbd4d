package dev.fatctx;

/** A feature that this version or this build of the library does not have. */
public final class UnsupportedException extends FatctxException {
    private static final long serialVersionUID = 1;

    UnsupportedException(Failure failure) {
        super(failure);
    }
}
