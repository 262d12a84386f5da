"""Short strings of the kind a user interface or a chat keeps, in ten languages."""

from __future__ import annotations

import random
from typing import Final

_MIN_BYTES: Final = 50
_MAX_BYTES: Final = 500
# ruff: noqa: RUF001 - other languages have other letters
_SENTENCES: Final = (
    ("The file could not be saved", "Please try again later", "Your changes have been kept"),
    ("Die Datei wurde nicht gespeichert", "Bitte später erneut versuchen", "Änderungen übernehmen?"),
    ("Le fichier n'a pas été enregistré", "Veuillez réessayer plus tard", "Modifier l'adresse"),
    ("No se pudo guardar el archivo", "Inténtelo de nuevo más tarde", "¿Desea continuar?"),
    ("Файл не удалось сохранить", "Повторите попытку позже", "Изменения сохранены"),
    ("Το αρχείο δεν αποθηκεύτηκε", "Δοκιμάστε ξανά αργότερα", "Θέλετε να συνεχίσετε;"),
    ("ファイルを保存できませんでした", "もう一度お試しください", "変更を保存しますか", "設定を開く"),
    ("无法保存文件", "请稍后重试", "您的更改已保存", "打开设置", "是否继续"),
    ("파일을 저장할 수 없습니다", "나중에 다시 시도해 주세요", "변경 사항이 저장되었습니다"),
    ("تعذر حفظ الملف", "يرجى المحاولة مرة أخرى لاحقًا", "تم حفظ التغييرات", "فتح الإعدادات"),
)


def phrases(dice: random.Random) -> str:
    """Sentences of one language with names and numbers between them, 50 to 500 bytes as UTF-8."""
    language = dice.choice(_SENTENCES)
    aim = min(_MAX_BYTES, int(_MIN_BYTES + dice.expovariate(1 / 70)))
    text = ""
    while len(text.encode()) < aim:
        detail = f"{dice.choice(('#', 'v', '№', '/'))}{dice.randrange(10 ** dice.randint(1, 6))}"
        text = f"{text}{dice.choice(language)} {detail}. "
    while len(text.encode()) > _MAX_BYTES:
        text = text[:-1]
    return text
