# The compiled part imports modules by their names, which PyInstaller cannot see.
from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("mcpool", filter=lambda name: not name.startswith("mcpool.adapters"))
datas = collect_data_files("mcpool")
