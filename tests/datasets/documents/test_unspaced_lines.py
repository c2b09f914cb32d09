"""Lines of paragraphs in scripts without blanks between words are joined as their writers read them."""

import pytest

from kg2rag.datasets.documents.pdf.unspaced_lines import joined_lines


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            ["この装置は出荷前に点検して", "いますので、そのまま使用で", "きます。"],
            "この装置は出荷前に点検していますので、そのまま使用できます。",
        ),
        (
            ["กรุณาปิดเครื่องก่อนทำความสะ", "อาดทุกครั้งที่ใช้งานเสร็จ"],
            "กรุณาปิดเครื่องก่อนทำความสะอาดทุกครั้งที่ใช้งานเสร็จ",
        ),
        (
            ["전원을 끄고 나서 청소해 주시기", "바랍니다 그리고 기다리십시오"],
            "전원을 끄고 나서 청소해 주시기 바랍니다 그리고 기다리십시오",
        ),
    ],
)
def test_a_line_of_japanese_and_thai_goes_on_without_a_blank_and_one_of_korean_with_one(
    lines, text
):
    assert joined_lines(lines) == text


def test_between_two_scripts_a_blank_stands_if_the_paragraph_has_others_there():
    spaced = ["使用 Wi-Fi 连接设备以后请打开", "KX-200 的设置页面。"]
    close = ["使用Wi-Fi连接设备以后请先打开", "KX-200的设置页面。"]
    assert joined_lines(spaced).endswith("请打开 KX-200 的设置页面。")
    assert joined_lines(close).endswith("请先打开KX-200的设置页面。")


def test_rows_of_a_table_stay_apart():
    rows = ["清洗后应自然晾干，切勿使用吹风机，否", "则滤网变形。", "额定功率", "噪音"]
    assert joined_lines(rows).endswith("吹风机，否则滤网变形。 额定功率 噪音")


def test_pages_of_chinese_text_have_sentences_without_blanks_at_the_ends_of_lines(read):
    pages = (
        "安装前请确认电源已经断开，并由具备资质\n的电工接线。\f滤网每三个月清洗一次。"
    )
    [passage] = read({"a.txt": pages}).corpus
    assert "并由具备资质的电工接线。" in passage.text


def test_blanks_that_recognition_of_a_scan_has_set_between_letters_are_removed():
    scan = ["美学 や 社会 学 の 分 野 で は 、 この 本 が", "よく 引用 さ れる 。"]
    assert joined_lines(scan) == "美学や社会学の分野では、この本がよく引用される。"
    table = ["张三 男 北京 已婚", "李四 女 上海 未婚。"]
    assert "张三 男 北京 已婚" in joined_lines(table)
