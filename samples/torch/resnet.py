# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 with the parameter names of torchvision, so that its weights can be loaded. Used by fine_tune.py and
classify.py."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(Block(64, 64, 1), Block(64, 64, 1))
        self.layer2 = nn.Sequential(Block(64, 128, 2), Block(128, 128, 1))
        self.layer3 = nn.Sequential(Block(128, 256, 2), Block(256, 256, 1))
        self.layer4 = nn.Sequential(Block(256, 512, 2), Block(512, 512, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def load(path):
    """Loads the network with weights from a file (torch.save of a state_dict, by torchvision or fine_tune.py)."""
    weights = torch.load(path, map_location="cpu", weights_only=True)
    model = ResNet18(weights["fc.weight"].shape[0])
    model.load_state_dict(weights)
    return model


def normalized(images):
    """Normalises images [N, 3, height, width] with values from 0 to 1 as networks trained on ImageNet expect."""
    mean, deviation = ((torch.tensor(v).view(3, 1, 1)) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    return (images - mean) / deviation
