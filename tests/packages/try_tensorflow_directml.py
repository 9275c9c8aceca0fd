# SPDX-License-Identifier: Apache-2.0
"""Microsoft's tensorflow-directml-plugin (TensorFlow 2) or tensorflow-directml (TensorFlow 1) on AnyDML: a small convolutional
network's output and one training step, on the adapter and on the CPU by TensorFlow itself."""
import sys

import numpy
import tensorflow

tf = tensorflow if tensorflow.__version__.startswith("1.") else tensorflow.compat.v1
tf.disable_eager_execution()


def weights(*shape):
    return tf.Variable(numpy.random.uniform(-0.3, 0.3, shape).astype("f"))


def step(device, images, labels):
    """The output before a step of gradient descent, the loss, and the output and all weights after it."""
    numpy.random.seed(3)
    with tf.Graph().as_default(), tf.device(device):
        kernels, wider, dense = weights(3, 3, 3, 8), weights(3, 3, 8, 16), weights(4 * 4 * 16, 10)
        x = tf.nn.relu(tf.nn.conv2d(tf.constant(images), filter=kernels, strides=[1, 1, 1, 1], padding="SAME"))
        x = tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
        x = tf.nn.relu(tf.nn.conv2d(x, filter=wider, strides=[1, 2, 2, 1], padding="SAME"))
        output = tf.matmul(tf.reshape(x, [len(images), -1]), dense)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=tf.constant(labels), logits=output))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            before = session.run([output, loss])
            session.run(train)
            return before + session.run([output, kernels, wider, dense])


def main():
    with tf.Session() as session:
        devices = [device.name for device in session.list_devices() if device.device_type in ("DML", "GPU")]
    if not devices:
        sys.exit("TensorFlow has found no DirectML device")
    print(f"tensorflow {tensorflow.__version__} on {devices[0]}")
    numpy.random.seed(2)
    images = numpy.random.normal(size=(4, 16, 16, 3)).astype("f")
    labels = numpy.eye(10, dtype="f")[[1, 7, 3, 3]]
    names = ("output", "loss", "output after it", "kernels", "wider kernels", "dense weights")
    failures, worst = [], 0
    for name, got, want in zip(names, step(devices[0], images, labels), step("/CPU:0", images, labels)):
        error = abs(got - want).max() / abs(want).max()
        worst = max(worst, error)
        if not error < 1e-4:
            failures.append(f"{name}: {error:g}")
    print("\n".join(failures) or f"{len(names)} results agree, the worst by {worst:.1e}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
