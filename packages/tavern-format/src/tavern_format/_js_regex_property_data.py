"""The Unicode properties that JavaScript knows by name, and what ignoring case adds to them.

Owns the names and nothing else; which characters have a property is for the `regex` module
to say. Source: what the JavaScript engine V8 accepts and matches (Node 20, Unicode 17); the
names are those of ECMAScript 2023, tables 68 to 70, and of Unicode's PropertyValueAliases.
"""

from collections.abc import Mapping
from types import MappingProxyType

_GENERAL_CATEGORIES = """
    Cased_Letter LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl
    Currency_Symbol Sc Dash_Punctuation Pd Decimal_Number Nd digit Enclosing_Mark Me
    Final_Punctuation Pf Format Cf Initial_Punctuation Pi Letter L Letter_Number Nl
    Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark Math_Symbol Sm Modifier_Letter
    Lm Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C Other_Letter
    Lo Other_Number No Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use
    Co Punctuation P punct Separator Z Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol
    S Titlecase_Letter Lt Unassigned Cn Uppercase_Letter Lu
"""

GENERAL_CATEGORIES = frozenset(_GENERAL_CATEGORIES.split())

_BINARY_PROPERTIES = """
    ASCII ASCII_Hex_Digit:AHex Alphabetic:Alpha Any Assigned Bidi_Control:Bidi_C
    Bidi_Mirrored:Bidi_M Case_Ignorable:CI Cased Changes_When_Casefolded:CWCF
    Changes_When_Casemapped:CWCM Changes_When_Lowercased:CWL
    Changes_When_NFKC_Casefolded:CWKCF Changes_When_Titlecased:CWT Changes_When_Uppercased:CWU
    Dash Default_Ignorable_Code_Point:DI Deprecated:Dep Diacritic:Dia Emoji
    Emoji_Component:EComp Emoji_Modifier:EMod Emoji_Modifier_Base:EBase
    Emoji_Presentation:EPres Extended_Pictographic:ExtPict Extender:Ext Grapheme_Base:Gr_Base
    Grapheme_Extend:Gr_Ext Hex_Digit:Hex IDS_Binary_Operator:IDSB IDS_Trinary_Operator:IDST
    ID_Continue:IDC ID_Start:IDS Ideographic:Ideo Join_Control:Join_C
    Logical_Order_Exception:LOE Lowercase:Lower Math Noncharacter_Code_Point:NChar
    Pattern_Syntax:Pat_Syn Pattern_White_Space:Pat_WS Quotation_Mark:QMark Radical
    Regional_Indicator:RI Sentence_Terminal:STerm Soft_Dotted:SD Terminal_Punctuation:Term
    Unified_Ideograph:UIdeo Uppercase:Upper Variation_Selector:VS White_Space:space
    XID_Continue:XIDC XID_Start:XIDS
"""

LONG_NAMES: Mapping[str, str] = MappingProxyType(
    {
        short: name
        for name, _, short in (word.partition(":") for word in _BINARY_PROPERTIES.split())
        if short
    }
)
"""From the short names of binary properties to the long ones."""

BINARY_PROPERTIES = frozenset(_BINARY_PROPERTIES.replace(":", " ").split())

_SCRIPTS = """
    Adlam Adlm Aghb Ahom Anatolian_Hieroglyphs Arab Arabic Armenian Armi Armn Avestan Avst
    Bali Balinese Bamu Bamum Bass Bassa_Vah Batak Batk Beng Bengali Berf Beria_Erfe Bhaiksuki
    Bhks Bopo Bopomofo Brah Brahmi Brai Braille Bugi Buginese Buhd Buhid Cakm
    Canadian_Aboriginal Cans Cari Carian Caucasian_Albanian Chakma Cham Cher Cherokee
    Chorasmian Chrs Common Copt Coptic Cpmn Cprt Cuneiform Cypriot Cypro_Minoan Cyrillic Cyrl
    Deseret Deva Devanagari Diak Dives_Akuru Dogr Dogra Dsrt Dupl Duployan Egyp
    Egyptian_Hieroglyphs Elba Elbasan Elym Elymaic Ethi Ethiopic Gara Garay Geor Georgian Glag
    Glagolitic Gong Gonm Goth Gothic Gran Grantha Greek Grek Gujarati Gujr Gukh Gunjala_Gondi
    Gurmukhi Guru Gurung_Khema Han Hang Hangul Hani Hanifi_Rohingya Hano Hanunoo Hatr Hatran
    Hebr Hebrew Hira Hiragana Hluw Hmng Hmnp Hung Imperial_Aramaic Inherited
    Inscriptional_Pahlavi Inscriptional_Parthian Ital Java Javanese Kaithi Kali Kana Kannada
    Katakana Kawi Kayah_Li Khar Kharoshthi Khitan_Small_Script Khmer Khmr Khoj Khojki
    Khudawadi Kirat_Rai Kits Knda Krai Kthi Lana Lao Laoo Latin Latn Lepc Lepcha Limb Limbu
    Lina Linb Linear_A Linear_B Lisu Lyci Lycian Lydi Lydian Mahajani Mahj Maka Makasar
    Malayalam Mand Mandaic Mani Manichaean Marc Marchen Masaram_Gondi Medefaidrin Medf
    Meetei_Mayek Mend Mende_Kikakui Merc Mero Meroitic_Cursive Meroitic_Hieroglyphs Miao Mlym
    Modi Mong Mongolian Mro Mroo Mtei Mult Multani Myanmar Mymr Nabataean Nagm Nag_Mundari
    Nand Nandinagari Narb Nbat Newa New_Tai_Lue Nko Nkoo Nshu Nushu Nyiakeng_Puachue_Hmong
    Ogam Ogham Ol_Chiki Olck Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian
    Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Ol_Onal Onao Oriya Orkh Orya Osage
    Osge Osma Osmanya Ougr Pahawh_Hmong Palm Palmyrene Pauc Pau_Cin_Hau Perm Phag Phags_Pa
    Phli Phlp Phnx Phoenician Plrd Prti Psalter_Pahlavi Qaac Qaai Rejang Rjng Rohg Runic Runr
    Samaritan Samr Sarb Saur Saurashtra Sgnw Sharada Shavian Shaw Shrd Sidd Siddham Sidetic
    Sidt SignWriting Sind Sinh Sinhala Sogd Sogdian Sogo Sora Sora_Sompeng Soyo Soyombo Sund
    Sundanese Sunu Sunuwar Sylo Syloti_Nagri Syrc Syriac Tagalog Tagb Tagbanwa Tai_Le Tai_Tham
    Tai_Viet Tai_Yo Takr Takri Tale Talu Tamil Taml Tang Tangsa Tangut Tavt Tayo Telu Telugu
    Tfng Tglg Thaa Thaana Thai Tibetan Tibt Tifinagh Tirh Tirhuta Tnsa Todhri Todr Tolong_Siki
    Tols Toto Tulu_Tigalari Tutg Ugar Ugaritic Unknown Vai Vaii Vith Vithkuqi Wancho Wara
    Warang_Citi Wcho Xpeo Xsux Yezi Yezidi Yi Yiii Zanabazar_Square Zanb Zinh Zyyy Zzzz
"""

SCRIPTS = frozenset(_SCRIPTS.split())

UNSUPPORTED_PROPERTIES = frozenset({"CWKCF", "Changes_When_NFKC_Casefolded"})
"""Properties the `regex` module does not have."""

_CASE_PROPERTIES = """
    CWCF CWKCF CWL CWT CWU Changes_When_Casefolded Changes_When_Lowercased
    Changes_When_NFKC_Casefolded Changes_When_Titlecased Changes_When_Uppercased Ll Lower
    Lowercase Lowercase_Letter Lu Upper Uppercase Uppercase_Letter
"""

CASE_PROPERTIES = frozenset(_CASE_PROPERTIES.split())
"""Properties about case itself: ignoring case changes them for hundreds of characters."""

_CASE_ADDITIONS = """
    345 p:Cased_Letter p:LC p:Letter p:L P:Mark P:M P:Combining_Mark P:Nonspacing_Mark P:Mn
      P:Case_Ignorable P:CI P:Diacritic P:Dia p:Grapheme_Base p:Gr_Base P:Grapheme_Extend
      P:Gr_Ext p:ID_Start p:IDS p:XID_Start p:XIDS P:sc=Inherited P:sc=Qaai P:sc=Zinh
    399 3B9 1FBE P:Cased_Letter P:LC P:Letter P:L p:Mark p:M p:Combining_Mark
      p:Nonspacing_Mark p:Mn p:Case_Ignorable p:CI p:Diacritic p:Dia P:Grapheme_Base
      P:Gr_Base p:Grapheme_Extend p:Gr_Ext P:ID_Start P:IDS P:XID_Start P:XIDS
      p:sc=Inherited p:sc=Qaai p:sc=Zinh
    1C4 1C6-1C7 1C9-1CA 1CC 1F1 1F3 1F80-1F87 1F90-1F97 1FA0-1FA7 1FB3 1FC3 1FF3
      p:Titlecase_Letter p:Lt
    1C5 1C8 1CB 1F2 1F88-1F8F 1F98-1F9F 1FA8-1FAF 1FBC 1FCC 1FFC P:Titlecase_Letter P:Lt
    17F 212A p:ASCII
    4B 53 6B 73 P:ASCII
    24DC p:Emoji p:Extended_Pictographic p:ExtPict
    24C2 P:Emoji P:Extended_Pictographic P:ExtPict
    392 395 398 39A 3A1 3A6 3B2 3B5 3B8 3BA 3C1 3C6 p:Math
    3D0-3D1 3D5 3F0-3F1 3F4-3F5 P:Math
    49-4A 12E 197 248 37F 406 408 1E2C 1ECA A7B2 p:Soft_Dotted p:SD
    69-6A 12F 249 268 29D 3F3 456 458 1E2D 1ECB P:Soft_Dotted P:SD
    39C 3BC p:sc=Common p:sc=Zyyy p:scx=Common P:scx=Greek P:scx=Grek p:scx=Zyyy
    B5 P:sc=Common P:sc=Zyyy P:scx=Common p:scx=Greek p:scx=Grek P:scx=Zyyy
    B5 345 p:sc=Greek p:sc=Grek
    399 39C 3B9 3BC 1FBE P:sc=Greek P:sc=Grek
"""


def _read_additions(text: str) -> Mapping[str, str]:
    """Turn rows of characters and the properties they belong to into a mapping."""
    additions: dict[str, str] = {}
    characters: list[str] = []
    row_complete = False
    for word in text.split():
        is_property = word.startswith(("p:", "P:"))
        if row_complete and not is_property:
            characters = []
        row_complete = is_property
        if is_property:
            additions[word] = " ".join(characters)
        else:
            characters.append(word)
    return MappingProxyType(additions)


CASE_ADDITIONS = _read_additions(_CASE_ADDITIONS)
"""What `\\p{..}` (key `p:name`) and `\\P{..}` (key `P:name`) also match under the flags i and u.

Values are hexadecimal code points and ranges. Scripts are keyed `sc=` and `scx=`.
"""
