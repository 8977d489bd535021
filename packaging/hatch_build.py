"""Tags the wheel: any Python 3, this machine's platform."""

import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    """The programs in the wheel are of one platform and of no Python in particular."""

    def initialize(self, version, build_data):
        """Hatchling's hook."""
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
