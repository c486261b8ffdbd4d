package dev.fatctx;

/** The point in time at which payload is checked. Metadata is always checked. */
public enum Verify {
    /** Before the first view of a record. */
    ON_ACQUIRE(0),
    /** Never. */
    NONE(1),
    /** Views are checked copies in memory that nobody can change. */
    PRIVATE_COPY(2);

    final int number;

    Verify(int number) {
        this.number = number;
    }
}
