package dev.fatctx;

/**
 * An error of the library. Each family of codes has a class of its own; codes of no family have this one.
 *
 * <p>The message is one line with file, reason, remedy and place. It is unchecked, because a container is checked when it
 * is opened: later calls fail for reasons that the caller seldom treats one by one.
 */
public class FatctxException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int number;
    private final String reason;
    private final String rule;
    private final long fileOffset;
    private final int recordId;
    private final int systemError;

    FatctxException(Failure failure) {
        super(failure.text);
        number = failure.number;
        reason = failure.reason;
        rule = failure.rule;
        fileOffset = failure.fileOffset;
        recordId = failure.recordId;
        systemError = failure.systemError;
    }

    /** Makes the exception of an error of the C interface; called by the native library. */
    static FatctxException of(
            int number, byte[] text, byte[] reason, byte[] rule, long fileOffset, int recordId, int systemError) {
        return of(new Failure(
                number, Texts.of(text), Texts.of(reason), Texts.of(rule), fileOffset, recordId, systemError));
    }

    /** Makes an error of this package, in the form of the library's. */
    static FatctxException refusal(ErrorCode code, String reason) {
        return of(new Failure(code.number(), reason + " (" + code.word() + ")", reason, "", -1, 0, 0));
    }

    private static FatctxException of(Failure failure) {
        switch (ErrorCode.of(failure.number)) {
            case NOT_FOUND:
                return new NotFoundException(failure);
            case INVALID_ARGUMENT:
            case INVALID_CONFIG:
                return new InvalidArgumentException(failure);
            case CHECKSUM_MISMATCH:
                return new ChecksumException(failure);
            case TRUNCATED:
            case TRAILING_DATA:
            case BAD_MAGIC:
            case MALFORMED:
            case BAD_REFERENCE:
            case CODEC:
                return new DamagedException(failure);
            case UNSUPPORTED:
                return new UnsupportedException(failure);
            case NO_MATCH:
                return new NoMatchException(failure);
            case SIGNATURE_MISSING:
            case SIGNATURE_BAD:
            case ROLLBACK:
                return new SignatureException(failure);
            case CHANGED:
            case MAPPING_LOST:
                return new ChangedException(failure);
            case IO:
            case NOT_REGULAR_FILE:
            case REMOTE_FILESYSTEM:
            case LOCKED:
                return new FileAccessException(failure);
            case LIMIT_EXCEEDED:
            case NO_RESOURCE:
            case OUT_OF_MEMORY:
            case COPY_NOT_ALLOWED:
                return new ResourceException(failure);
            case STALE_HANDLE:
                return new StaleHandleException(failure);
            case NOT_PRESENT:
                return new NotPresentException(failure);
            default:
                return new FatctxException(failure);
        }
    }

    /** Returns the code, for a decision; {@link ErrorCode#UNKNOWN} for a code of a newer library. */
    public ErrorCode code() {
        return ErrorCode.of(number);
    }

    /** Returns the number of the code in the C interface, also of an unknown one. */
    public int number() {
        return number;
    }

    /** Returns file, reason and remedy, without the place in the file. */
    public String reason() {
        return reason;
    }

    /** Returns the broken rule of the format, "F16"; empty if there is none. */
    public String rule() {
        return rule;
    }

    /** Returns the byte of the container that the complaint is about; -1 if there is none. */
    public long fileOffset() {
        return fileOffset;
    }

    /** Returns the record that the complaint is about; 0 if there is none. */
    public int recordId() {
        return recordId;
    }

    /** Returns the system's error number; 0 if there is none. */
    public int systemError() {
        return systemError;
    }
}
