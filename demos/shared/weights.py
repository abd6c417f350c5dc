"""Published weights, for the pages' Python: into the script's folder, by torch.hub, which keeps them in the browser."""

import json
import os


async def fetch(url, name, digest, tell):
    """Puts a file beside the script: out of the browser's storage, or from the network."""
    import torch

    if not os.path.exists(name):
        await torch.hub.download_url_to_file_async(
            url, name, digest, progress=lambda done, total: tell(done, total or 0)
        )


async def stored():
    """What torch.hub keeps in the browser."""
    import torch

    return json.dumps(await torch.hub.downloads_async())


async def remove(url):
    """Deletes a file from the browser's storage; the one beside the script stays until the page is closed."""
    import torch

    await torch.hub.remove_download_async(url)
    return "null"
