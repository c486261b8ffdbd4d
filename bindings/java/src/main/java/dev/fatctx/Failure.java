package dev.fatctx;

/** The facts of an error, on their way into an exception. */
final class Failure {
    final int number;
    final String text;
    final String reason;
    final String rule;
    final long fileOffset;
    final int recordId;
    final int systemError;

    Failure(int number, String text, String reason, String rule, long fileOffset, int recordId, int systemError) {
        this.number = number;
        this.text = text;
        this.reason = reason;
        this.rule = rule;
        this.fileOffset = fileOffset;
        this.recordId = recordId;
        this.systemError = systemError;
    }
}
