package dev.fatctx;

import java.io.FileDescriptor;
import java.nio.ByteBuffer;

/**
 * The functions of the native library. Handles are numbers; texts are UTF-8 in byte arrays; an error is thrown. A function
 * with several results returns an array of arrays, which the class that calls it takes apart.
 */
final class Native {
    static {
        System.loadLibrary("fatctx_jni");
    }

    private Native() {}

    static native byte[] libraryVersion();

    static native byte[] formatVersion();

    static native void installMappingGuard();

    static native byte[] accessPathName(int accessPath);

    static native byte[] axisName(int axis);

    /** Returns -1 where FileDescriptor has no field `fd`. */
    static native int descriptorOf(FileDescriptor descriptor);

    static native long openPath(byte[] path, long[] options, byte[] keys);

    static native long openDescriptor(int descriptor, long offset, long size, long[] options, byte[] keys);

    static native long openMemory(ByteBuffer bytes, long[] options, byte[] keys);

    static native long reopen(long container);

    static native void checkContainer(long container);

    static native void closeContainer(long container);

    static native Object[] report(long container);

    static native long recordCount(long container);

    static native Object[] recordAt(long container, long index);

    static native Object[] record(long container, int id);

    static native Object[] findRecord(long container, byte[] name);

    static native long acquire(long container, int id);

    static native long acquireName(long container, byte[] name);

    static native long acquireTensor(long container, int weights, byte[] name);

    static native long copyView(long view);

    static native long[] describeView(long view);

    static native ByteBuffer viewBytes(long view, long offset, long size);

    static native Object[] viewTensor(long view);

    static native void closeView(long view);

    static native long openTensors(long container, int weights);

    static native long tensorCount(long table);

    static native Object[] tensorAt(long table, long index);

    static native void closeTensors(long table);

    static native long detectDevice();

    static native long parseDevice(byte[] text);

    static native long npuOf(long device);

    static native void closeDevice(long device);

    static native byte[] explainContainer(long container, long[] options, byte[][] texts);

    static native long choose(long container, long[] options, byte[][] texts);

    static native byte[] explainModel(long model);

    static native Object[] selection(long model);

    static native void closeModel(long model);

    static native long beginSession(long model);

    static native long binary(long session, byte[] unit);

    static native long weightsCount(long session);

    static native long weights(long session, long index);

    static native long sessionTensor(long session, byte[] name);

    static native void endSession(long session);

    static native void closeSession(long session);
}
