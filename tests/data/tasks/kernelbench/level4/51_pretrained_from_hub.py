import torch
import torch.nn as nn

from transformers import AutoConfig, AutoModelForCausalLM


class Model(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.model = AutoModelForCausalLM.from_pretrained(name, config=AutoConfig.from_pretrained(name))

    def forward(self, tokens):
        return self.model(tokens).logits


def get_inputs():
    return [torch.randint(0, 100, (1, 8))]


def get_init_inputs():
    return ["nobody/no-such-model"]
