package dev.fatctx;

/** A file that cannot be read, or must not be opened. */
public final class FileAccessException extends FatctxException {
    private static final long serialVersionUID = 1;

    FileAccessException(Failure failure) {
        super(failure);
    }
}
