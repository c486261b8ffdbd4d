package dev.fatctx;

/** A file, record, tensor, unit or group that does not exist. For a name, the message has the nearest one. */
public final class NotFoundException extends FatctxException {
    private static final long serialVersionUID = 1;

    NotFoundException(Failure failure) {
        super(failure);
    }
}
