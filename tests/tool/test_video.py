#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Videos as inputs and outputs of `anydml run`: test_video.py ANYDML

Frames of known pixels go into a lossless video; what comes out is compared with numpy. Skipped where there is no ffmpeg.
"""
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

import pictures
import wire
from tool import SKIP, Tool

FRAMES, HEIGHT, WIDTH = 7, 9, 14


def make_video(path, frames, rate="25/2", more=()):
    ppm = b"".join(b"P6 %d %d 255\n" % frame.shape[1::-1] + frame.tobytes() for frame in frames)
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "image2pipe", "-framerate", rate, "-c:v", "ppm", "-i", "-", *more, "-c:v", "ffv1",
                    "-pix_fmt", "bgr0", path], input=ppm, check=True)


def about(path):
    """Width, height, frames per second, frames."""
    text = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries",
                           "stream=width,height,avg_frame_rate,nb_read_frames", "-of", "csv=p=0", path], check=True,
                          capture_output=True, text=True).stdout
    return text.strip().split(",")


def check_frames(tool, negative, clip, frames):
    """Each frame is 255 minus what it was, in order, under its number; a video of them has as many, as fast."""
    os.mkdir(tool.file("out"))
    text = tool.works("run", negative, "--input", clip, "--output", tool.file("out"))
    tool.test(f"{FRAMES} frames in" in text and "per second" in text and text.count("input ") == 1, f"what is printed: {text}")
    names = sorted(os.listdir(tool.file("out")))
    tool.test(names == [f"{i:06}.png" for i in range(1, FRAMES + 1)], f"names of frames: {names}")
    for name, frame in zip(names, frames):
        tool.test((pictures.read_png(tool.file("out/" + name)) == 255 - frame).all(), f"the pixels of {name}")
    made = tool.file("made.mkv")
    tool.works("run", negative, "--input", clip, "--output", made)
    # Odd sizes are filled up: players take even ones.
    tool.test(about(made) == [str(WIDTH), str(HEIGHT + HEIGHT % 2), "25/2", str(FRAMES)], f"the video: {about(made)}")


def check_uneven(tool, negative, frames):
    """Frames that stay for one and for three twenty-fifths of a second: what is made of them takes as long."""
    clip, made = tool.file("uneven.mkv"), tool.file("even.mp4")
    make_video(clip, [*frames, *frames[:5]], "25", ["-vf", "setpts='if(lt(N,6),N,6+(N-6)*3)/(25*TB)'", "-fps_mode", "vfr"])
    tool.works("run", negative, "--input", clip, "--output", made)
    _, _, rate, count = about(made)
    over, under = map(int, rate.split("/"))
    seconds = int(count) * under / over
    tool.test(abs(seconds - 24 / 25) < 0.15, f"24/25 s became {seconds} s: {about(made)}")


def check_colours(tool, negative):
    """As those say who watch it, with the matrix that it says."""
    colour = np.array([200, 30, 60], np.uint8)
    clip, made = tool.file("flat.mkv"), tool.file("flat.mp4")
    make_video(clip, [np.broadcast_to(colour, (HEIGHT, WIDTH, 3))] * 2)
    tool.works("run", negative, "--input", clip, "--output", made)
    said = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=color_space,color_range", "-of", "csv=p=0", made],
                          check=True, capture_output=True, text=True).stdout.strip()
    tool.test(sorted(said.split(",")) == ["bt709", "tv"], f"what it says of colours: {said}")
    pixels = subprocess.run(["ffmpeg", "-v", "error", "-i", made, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], check=True,
                            capture_output=True).stdout
    middle = np.frombuffer(pixels, np.uint8).reshape(2, -1, WIDTH, 3)[0, 3, 5].astype(int)
    tool.test(np.abs(middle - (255 - colour.astype(int))).max() <= 6, f"the colour is {middle}")


def check_failure(tool, negative, clip):
    """What was there before stays, and nothing else."""
    os.mkdir(tool.file("bin"))
    fake, old = tool.file("bin/ffmpeg", b"#!/bin/sh\ncase \"$*\" in *nostdin*) exec " + shutil.which("ffmpeg").encode() +
                          b" \"$@\" ;; esac\nhead -c 99 >/dev/null\nexit 1\n"), tool.file("there/old.mp4")
    os.chmod(fake, 0o755)
    os.mkdir(tool.file("there"))
    with open(old, "wb") as file:
        file.write(b"old")
    tool.fails(["run", negative, "--input", clip, "--output", old], "old.mp4", PATH=tool.file("bin") + ":" + os.environ["PATH"])
    with open(old, "rb") as file:
        tool.test(file.read() == b"old" and os.listdir(tool.file("there")) == ["old.mp4"], "what was there before")


def check_labels(tool, clip):
    """The likeliest colour of each frame: a mean over the image."""
    model = tool.file("mean.onnx", wire.model([wire.node("GlobalAveragePool", ["x"], ["y"])],
                                              [("x", wire.FLOAT, [1, 3, HEIGHT, WIDTH])], [("y", wire.FLOAT, [1, 3, 1, 1])]))
    labels = tool.file("labels", b"red\ngreen\nblue\n")
    text = tool.works("run", model, "--input", clip, "--labels", labels)
    tool.test(text.count("frame ") == FRAMES - 1 and text.count("green") == FRAMES, f"labels: {text}")


def check_wrong(tool, negative, clip):
    picture = tool.file("p.png", pictures.png(np.zeros((HEIGHT, WIDTH, 3), np.uint8)))
    run = ["run", negative, "--input"]
    tool.fails([*run, tool.file("none.mp4")], "none.mp4", "No such file")
    tool.fails([*run, tool.file("noise.mp4", bytes(range(256)))], "noise.mp4", "ffmpeg cannot read")
    tool.fails([*run, clip, "--output", clip], "that is the input")
    tool.fails([*run, clip, "--output", tool.file("x.npy")], "need a video or a folder")
    tool.fails([*run, clip, "--output", tool.file("no/x.mp4")], "No such file")
    tool.fails([*run, picture, "--output", tool.file("x.mp4")], "requires a video input")
    tool.fails([*run, clip, "--repeat", "2"], "--repeat")
    tool.fails([*run, clip], "not installed", PATH="/nonexistent")
    with open(clip, "rb") as file:
        half = tool.file("half.mkv", file.read()[:600])
    result = tool.run(*run, half)
    tool.test(result.returncode in (0, 2) and len(result.stderr.splitlines()) <= 1, f"half a video: {result}")


def check_playlists(tool, negative, clip):
    """Files that name others to read are no videos, whatever they are called."""
    shutil.copy(clip, tool.file("sub.mkv"))
    playlists = {"ffconcat": "ffconcat version 1.0\nfile sub.mkv\n",
                 "hls": "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:2.0,\nsub.mkv\n#EXT-X-ENDLIST\n"}
    for name, text in playlists.items():
        for ending in (".mp4", ".mkv", ".webm", ".mov", ".avi"):
            tool.fails(["run", negative, "--input", tool.file(name + ending, text.encode())], "cannot read")


def check_signals(tool, negative, clip):
    """A command that is ended leaves nothing beside what was there."""
    os.mkdir(tool.file("ended"))
    os.mkdir(tool.file("slowbin"))
    shutil.copy(clip, tool.file("slow.mkv"))
    # A reader that goes on for ever behind the first frames.
    script = f"#!/bin/sh\ncase \"$*\" in *nostdin*) {shutil.which('ffmpeg')} \"$@\"; while kill -0 $PPID; do sleep 0.2; done; exit ;; esac\nexec " \
             f"{shutil.which('ffmpeg')} \"$@\"\n"
    os.chmod(tool.file("slowbin/ffmpeg", script.encode()), 0o755)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        run = subprocess.Popen([tool.path, "run", negative, "--input", tool.file("slow.mkv"), "--output", tool.file("ended/y.mp4")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "PATH": tool.file("slowbin") + ":" + os.environ["PATH"]},
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) # the tests may run under nohup
        end = time.time() + 120
        while not (there := os.listdir(tool.file("ended"))) and run.poll() is None and time.time() < end:
            time.sleep(0.02)
        run.send_signal(number)
        run.wait(timeout=120) # not communicate(): the reader holds pipes open until the process is reaped
        tool.test(there and run.returncode == -number and not os.listdir(tool.file("ended")),
                  f"signal {number}: {there}, code {run.returncode}, then {os.listdir(tool.file('ended'))}")
    # One that is ignored, as under nohup, ends nothing.
    run = subprocess.Popen([tool.path, "run", negative, "--input", clip, "--output", tool.file("ended/y.mp4")],
                           stdout=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while not os.listdir(tool.file("ended")) and run.poll() is None:
        time.sleep(0.01)
    run.send_signal(signal.SIGHUP)
    tool.test(run.wait(timeout=120) == 0 and os.listdir(tool.file("ended")) == ["y.mp4"], "an ignored signal")


def main():
    if not shutil.which("ffmpeg"):
        print("SKIP: there is no ffmpeg")
        sys.exit(SKIP)
    tool = Tool(sys.argv[1])
    frames = np.random.default_rng(3).integers(0, 256, (FRAMES, HEIGHT, WIDTH, 3)).astype(np.uint8)
    frames[..., 1] |= 128
    clip = tool.file("clip.mkv")
    make_video(clip, frames)
    negative = tool.file("negative.onnx", wire.model([wire.node("Sub", ["one", "x"], ["y"])],
                                                     [("x", wire.FLOAT, [1, 3, HEIGHT, WIDTH])],
                                                     [("y", wire.FLOAT, [1, 3, HEIGHT, WIDTH])], [("one", np.ones(1, np.float32))]))
    check_frames(tool, negative, clip, frames)
    check_uneven(tool, negative, frames)
    check_colours(tool, negative)
    check_failure(tool, negative, clip)
    check_labels(tool, clip)
    check_wrong(tool, negative, clip)
    check_playlists(tool, negative, clip)
    check_signals(tool, negative, clip)
    tool.finish()


if __name__ == "__main__":
    main()
