# Batches of four from two workers, each with pictures of its own: by PyTorch's DataLoader if there is one.
import sys


def batches(first, second, number=100):
    try:
        import torch.utils.data as data
    except ImportError:
        import dataloader
        print("there is no torch: its DataLoader is imitated", file=sys.stderr)
        return dataloader._MultiProcessingDataLoaderIter([first, second], 2, number)

    class Both(data.Dataset):
        def __len__(self):
            return 4 * number

        def __getitem__(self, i):
            return (first, second)[data.get_worker_info().id][i]

    return data.DataLoader(Both(), batch_size=4, num_workers=2, multiprocessing_context="fork")
