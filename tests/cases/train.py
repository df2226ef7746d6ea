import time # a training loop with two workers, one of them ten times slower than the other
from batches import batches
class Pictures:
    def __init__(self, seconds): self.seconds = seconds
    def __getitem__(self, i):
        time.sleep(self.seconds)
        return i

def train():
    for batch in batches(Pictures(0.02), Pictures(0.002)):
        time.sleep(0.005)
if __name__ == "__main__": train()
