package dev.fatctx;

/** No record fits the device. The message has the reason for each record. */
public final class NoMatchException extends FatctxException {
    private static final long serialVersionUID = 1;

    NoMatchException(Failure failure) {
        super(failure);
    }
}
