package dev.fatctx;

import java.io.FileDescriptor;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A container that is open. Any number of threads may use it, and one of them may close it meanwhile.
 *
 * <p>Every file is mapped once per process, however often it is opened. Views stay valid after the close.
 */
public final class Container implements AutoCloseable {
    /** As a length: to the end of the file. It is AssetFileDescriptor.UNKNOWN_LENGTH of Android. */
    public static final long TO_THE_END = -1;

    private final Handle handle;

    private Container(long id) {
        handle = new Handle("container", id, Native::closeContainer);
    }

    /** Opens a file, or joins this process's mapping of it. */
    public static Container open(Path path) {
        return open(path, new OpenOptions());
    }

    public static Container open(Path path, OpenOptions options) {
        byte[] text = Texts.required(path.toString(), "path");
        return new Container(Native.openPath(text, options.numbers(), options.keys()));
    }

    /**
     * Opens a part of an open file: `length` bytes from `offset`, which is a multiple of 4,096. The descriptor may be closed
     * afterwards. For Java: Android keeps the number of a FileDescriptor to itself, so pass that of the
     * ParcelFileDescriptor there.
     */
    public static Container open(FileDescriptor descriptor, long offset, long length) {
        return open(descriptor, offset, length, new OpenOptions());
    }

    public static Container open(FileDescriptor descriptor, long offset, long length, OpenOptions options) {
        if (!descriptor.valid()) {
            throw FatctxException.refusal(ErrorCode.INVALID_ARGUMENT, "the file descriptor is closed");
        }
        int number = Native.descriptorOf(descriptor);
        if (number < 0) {
            throw FatctxException.refusal(
                    ErrorCode.UNSUPPORTED,
                    "a FileDescriptor of this system does not tell its number; pass ParcelFileDescriptor.getFd()");
        }
        return open(number, offset, length, options);
    }

    /** Opens a part of an open file, by the number of its descriptor: ParcelFileDescriptor.getFd() of Android. */
    public static Container open(int descriptor, long offset, long length) {
        return open(descriptor, offset, length, new OpenOptions());
    }

    public static Container open(int descriptor, long offset, long length, OpenOptions options) {
        if (offset < 0 || length < TO_THE_END || length > Long.MAX_VALUE - offset) {
            throw FatctxException.refusal(
                    ErrorCode.INVALID_ARGUMENT, length + " bytes from byte " + offset + " are no part of a file");
        }
        if (length == 0) { // 0 is "to the end" in C: an empty entry of an archive would become all that is behind it
            throw FatctxException.refusal(
                    ErrorCode.INVALID_ARGUMENT, "0 bytes are no container; for all bytes to the end pass TO_THE_END");
        }
        long size = length == TO_THE_END ? 0 : length;
        return new Container(Native.openDescriptor(descriptor, offset, size, options.numbers(), options.keys()));
    }

    /**
     * Opens a container in memory: the bytes from position to limit of a direct buffer, which must not be changed any more.
     * The library keeps the buffer until nothing uses its bytes.
     */
    public static Container open(ByteBuffer bytes) {
        return open(bytes, new OpenOptions());
    }

    public static Container open(ByteBuffer bytes, OpenOptions options) {
        if (!bytes.isDirect()) {
            throw FatctxException.refusal(
                    ErrorCode.INVALID_ARGUMENT,
                    "the garbage collector moves the bytes of this buffer; put them into one of ByteBuffer.allocateDirect()");
        }
        return new Container(Native.openMemory(bytes.slice(), options.numbers(), options.keys()));
    }

    /** Opens the same source again: the present file at its path. This container and its views keep the old bytes. */
    public Container reopen() {
        long id = handle.enter();
        try {
            return new Container(Native.reopen(id));
        } finally {
            handle.leave();
        }
    }

    /** Checks that the file is still the one that was opened, and that no mapped byte was lost. */
    public void check() {
        long id = handle.enter();
        try {
            Native.checkContainer(id);
        } finally {
            handle.leave();
        }
    }

    /** Returns facts about the open. */
    public OpenReport report() {
        long id = handle.enter();
        try {
            return new OpenReport(Native.report(id));
        } finally {
            handle.leave();
        }
    }

    /** Returns all records, in the order of their ids. */
    public List<RecordInfo> records() {
        long id = handle.enter();
        try {
            long count = Native.recordCount(id);
            List<RecordInfo> records = new ArrayList<>();
            for (long i = 0; i < count; ++i) records.add(new RecordInfo(Native.recordAt(id, i)));
            return records;
        } finally {
            handle.leave();
        }
    }

    /** Returns a record by its id. */
    public RecordInfo record(int recordId) {
        long id = handle.enter();
        try {
            return new RecordInfo(Native.record(id, recordId));
        } finally {
            handle.leave();
        }
    }

    /** Returns a record by its name. */
    public RecordInfo find(String name) {
        byte[] text = Texts.required(name, "name");
        long id = handle.enter();
        try {
            return new RecordInfo(Native.findRecord(id, text));
        } finally {
            handle.leave();
        }
    }

    /** Makes a view of a record's bytes, checked as the options of the open say. */
    public View acquire(int recordId) {
        long id = handle.enter();
        try {
            return new View(Native.acquire(id, recordId));
        } finally {
            handle.leave();
        }
    }

    /** Makes a view of the record with this name. */
    public View acquire(String name) {
        byte[] text = Texts.required(name, "name");
        long id = handle.enter();
        try {
            return new View(Native.acquireName(id, text));
        } finally {
            handle.leave();
        }
    }

    /** Makes a view of one tensor of a weight blob, and checks its bytes alone. The error names the nearest name. */
    public Tensor tensor(int weightsId, String name) {
        byte[] text = Texts.required(name, "name");
        long id = handle.enter();
        try {
            return new Tensor(Native.acquireTensor(id, weightsId, text));
        } finally {
            handle.leave();
        }
    }

    /** Returns the facts of the tensors of a weight blob, in the order of their names. */
    public List<TensorInfo> tensors(int weightsId) {
        long id = handle.enter();
        try {
            long table = Native.openTensors(id, weightsId);
            try {
                long count = Native.tensorCount(table);
                List<TensorInfo> tensors = new ArrayList<>();
                for (long i = 0; i < count; ++i) tensors.add(new TensorInfo(Native.tensorAt(table, i)));
                return tensors;
            } finally {
                Native.closeTensors(table);
            }
        } finally {
            handle.leave();
        }
    }

    /** Chooses the records for this machine. */
    public Model select() {
        return select(new SelectOptions());
    }

    /** Chooses the records for a device. If none fits, {@link NoMatchException} has the reason for each record. */
    public Model select(SelectOptions options) {
        return options.during((numbers, texts) -> {
            long id = handle.enter();
            try {
                return new Model(Native.choose(id, numbers, texts));
            } finally {
                handle.leave();
            }
        });
    }

    /** Explains in several lines the choice for this machine, also if no record fits. */
    public String explain() {
        return explain(new SelectOptions());
    }

    /** Explains in several lines the choice for a device, also if no record fits. */
    public String explain(SelectOptions options) {
        return options.during((numbers, texts) -> {
            long id = handle.enter();
            try {
                return Texts.of(Native.explainContainer(id, numbers, texts));
            } finally {
                handle.leave();
            }
        });
    }

    /** Says if the container is open. */
    public boolean isOpen() {
        return handle.open();
    }

    /** Closes the container. Views, models and sessions of it stay valid. Closing twice does nothing. */
    @Override
    public void close() {
        handle.close();
    }
}
