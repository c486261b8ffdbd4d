package dev.fatctx;

/** A call on an object that is closed. */
public final class StaleHandleException extends FatctxException {
    private static final long serialVersionUID = 1;

    StaleHandleException(Failure failure) {
        super(failure);
    }
}
