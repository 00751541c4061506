"""How English replies say yes and no: openings, whole sentences, and what stands before the clause that answers."""

import re

YES = frozenset(["yes", "yeah", "yea", "yep", "yup", "aye", "true", "correct", "affirmative"])
NO = frozenset(["no", "nope", "nah", "false", "negative", "incorrect", "untrue"])
# `a true story` says nothing.
# Words that answer only where no word follows.
ONLY_AT_END = frozenset(["true", "correct", "affirmative", "false", "negative", "incorrect", "untrue"])
# Words before which `no` is an answer and not the `no` of `no cats`.
AFTER_NO = frozenset(
    {
        *("it", "they", "he", "she", "there", "this", "that", "these", "those", "the", "i", "we", "you", "if"),
        *("because", "since", "not", "as", "his", "her", "its", "their", "a", "an", "otherwise", "when", "and"),
        *("but", "or", "from", "based", "given", "under", "in", "unless", "due"),
    }
)
SURE = (
    r"(?:definitely|certainly|absolutely|probably|(?:(?:most|very|quite|highly) )?likely|most (?:probably|certainly"
    r"|definitely)|of course|surely|clearly|obviously|naturally|undoubtedly|almost certainly|evidently|apparently"
    r"|presumably)"
)
_CASE = r"in (?:that|this|such a)(?: hypothetical| imagined)? (?:case|scenario|situation)"
_ASSUMED = r"under (?:that|this|these|those|such) (?:assumption|condition|circumstance)s?"
_OPENER = (
    r"(?:ok|okay|hm+|ah|oh|sure|right|(?:good|great) question|overall|simply put|put simply|hypothetically|logically"
    r"|realistically|technically|consequently|accordingly|as a result|in (?:short|conclusion|summary|brief|essence"
    r"|general|fact|reality|all (?:likelihood|probability)|principle|theory|other words|the end|my (?:opinion|view))"
    r"|(?:strictly|generally|technically|logically|realistically) speaking|(?:all things|everything) considered"
    r"|to (?:conclude|summari[sz]e|sum up|be (?:clear|honest|brief|precise)|answer (?:the|your) question)"
    r"|as far as i can (?:see|tell))"
)
_MODAL = r"(?:'d| would| will|'ll| can| must|(?:'d| would)? have to|(?: am|'m) (?:going|inclined) to|(?: am|'m))"
SAY = (
    rf"(?:i|we){_MODAL}?(?: also| still| definitely| certainly| probably)?"
    r" (?:say(?: with (?:confidence|certainty))?|confirm|think|believe"
    r"|answer(?: (?:this|(?:the|this|your) question))?|reply|respond|conclude|argue|vote"
    r"|choose|pick|go (?:with|for)"
    r"|lean(?:ing)?(?: towards?)?)"
    r"(?: that| with| for)?"
)
_LABEL = (
    r"(?:(?:short |final |my |the |correct |right |best |likely |logical |most )*(?:answer|reply|response|verdict"
    r"|conclusion|output|prediction|result|decision"
    r"|judge?ment|vote))"
)
_FIRM = r"(?:firm|clear|definite|definitive|resounding|simple|strong|solid|hard|big|straightforward)"
_STRONG = rf"(?:(?:an?|in the)(?: {_FIRM})?)"
_ANSWER_IS = (
    rf"(?:it|that|this|{_LABEL}(?: to (?:the|your|this) question)?)"
    rf"(?: is| would be| will be| has to be| must be|'s|'d be)(?: {_STRONG})?"
)
# What may stand before the yes or no of `the answer is a clear no`.
STRONG = re.compile(rf"\W*(?:{_STRONG}|{_FIRM}) (?=(?:yes|no|affirmative|negative)\b)", re.IGNORECASE)
# What may stand before an opening yes or no.
LEAD = (
    rf"(?:{SURE}|so|then|therefore|thus|hence|well|{_OPENER}|{SAY}(?: {_ANSWER_IS}| {_STRONG})?|{_ANSWER_IS}"
    rf"|{_LABEL}|{_CASE}|{_ASSUMED})"
)
STARTER = re.compile(
    rf"\W*(?:(?:apparently|presumably|evidently|obviously|clearly|naturally|surely|so|(?:even )?then|even so"
    rf"|therefore|thus|hence|well|and|{_OPENER}|{_CASE}|{_ASSUMED})\b\W*)+",
    re.IGNORECASE,
)
CONCLUDING = re.compile(r",?\s+(?:and )?(?:so|therefore|thus|hence|consequently)\b,?\s+", re.IGNORECASE)
CASE = re.compile(rf"\b(?:{_CASE}|{_ASSUMED})", re.IGNORECASE)
# What may stand before a yes or no within a sentence: `… I would say yes`.
SAYS = re.compile(rf"\b(?:{SAY}(?: {_ANSWER_IS}| {_STRONG})?|{_ANSWER_IS})\W+(?=(?:yes|no)\b)", re.IGNORECASE)
# How a phrase begins that only leads to an answer: `considering the scene, yes`.
INTRODUCED = re.compile(
    r"\W*(?:so |then |and |but |well,? )?(?:even )?(?:considering|looking|based|judging|going by|given|according|from"
    r"|in"
    r"|on|at|under|with|without|by|as|if|when|while|after|once|since|because|assuming|supposing|suppose|were|had|should"
    r"|due|thinking|taking|seeing|viewing|observing|examining|analy[sz]ing|inspecting|having|upon|for|to|now that|being"
    r"|following|imagining|concerning|regarding|removing|adding|then)\b",
    re.IGNORECASE,
)
SURE_NOT = re.compile(rf"\W*{SURE} not\b", re.IGNORECASE)
HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|possible|might|may|could|either|neither|not (?:necessarily|yes|no|true))\b", re.I
)
DENIED = re.compile(r"\b(?:not|never|no|nobody|nothing|none|neither|without)\b|n't\b", re.IGNORECASE)
# A sentence that may take an opening `yes` back.
TURN = re.compile(r"[.!?;\n]\s*(?:however|but|that said|on the other hand|still)\b", re.IGNORECASE)
_ENDS = r"(?=\W*$|\s*[,.;:!]|\s+-|\s+(?:because|since|as|given|if|in|under|with|either)\b)"
FIXED_NO = re.compile(
    r"\W*(?:(?:i(?:'m| am) )?afraid not|i (?:(?:would )?(?:think|believe|suppose|expect|imagine)|would say) not"
    rf"|{SURE} not|(?:(?:very|highly|most|quite|rather|extremely) )?unlikely"
    r"|hardly(?: so)?|scarcely|not (?:very )?likely"
    r"|not (?:at all|really|any ?more|any longer|so|true|correct|the case|in the (?:slightest|least)|even close)"
    r"|not that i (?:can (?:see|tell)|see|know)|not in th(?:at|is) (?:case|scenario|situation)|no way|by no means"
    r"|in no way|under no circumstances|never"
    r"|(?:no|not a|no real|fat) chance|(?:it )?(?:seems|appears|would (?:seem|appear)) not"
    r"|(?:(?:highly|very) )?doubtful|would not"
    r"|wouldn't|(?:would not|wouldn't) be|(?:i(?:'d"
    r"| would) answer )?in the negative|far from it|out of the question|unfortunately,? not|sadly,? not"
    r"|(?:that|this|it)(?:'s| is| would be|'d be)(?: definitely| certainly| simply)? (?:not (?:true|correct|right"
    r"|the case|so)|wrong|(?:very|highly|most|quite) unlikely)"
    rf"|(?:that|this|it)(?: isn't| wouldn't be| would not be) (?:true|correct|right|the case|so)){_ENDS}",
    re.IGNORECASE,
)
# Sentences that are an answer, whatever was asked.
FIXED_YES = re.compile(
    r"\W*(?:(?:i(?:'m| am) )?afraid so|(?:most |almost )?(?:definitely|certainly|absolutely)|of course|surely|indeed"
    r"|undoubtedly|without (?:a |any )?doubt|no doubt(?: about (?:it|that))?|for sure|very much so|by all means|exactly"
    r"|(?:i(?:'d| would) answer )?in the affirmative|you bet|naturally|obviously|clearly|sure(?: thing)?|right"
    r"|probably|(?:most|very|highly|quite) likely|quite so|would be|sure would(?: be)?"
    r"|i (?:do not|don't) see why not"
    r"|(?:that|this|it)(?:'s| is| would be|'d be)(?: definitely| certainly| indeed| absolutely)?"
    rf" (?:correct|right|true|the case|so|(?:most|very|highly|quite) likely)){_ENDS}",
    re.IGNORECASE,
)
# `Sure! Here is what I see` and `Clearly, the lamp is green` answer nothing.
# Those that stay one whatever sentence follows, unless it is about the image or the speaker.
DECISIVE = re.compile(
    r"\W*(?:(?:most )?(?:definitely|certainly|absolutely)|of course|without (?:a |any )?doubt|for sure|very much so"
    r"|by all means|exactly|(?:that|this|it)(?:'s| is| would be)(?: definitely| indeed| absolutely)? (?:correct|right"
    r"|true|the case|so))\b",
    re.IGNORECASE,
)
ABOUT_ELSE = re.compile(
    r"\W*(?:here|let|i|we|you|to|based|looking|please|allow)\b|\b(?:image|picture|photo|photograph|scene|help)\b", re.I
)
# What denies the clause after it: `I don't think he would`.
DENIED_CLAUSE = re.compile(
    r"\W*(?:(?:(?:i|we) )?(?:do not|don't|would not|wouldn't|should not|shouldn't|really don't|do not really|hardly)"
    r"(?: really| quite)? (?:think|believe|expect|say|suppose|imagine)"
    r"|(?:i )?(?:very much |highly |strongly |really |seriously )?doubt"
    r"|(?:it|that)(?: is| would be|'s|'d be| seems| appears)(?: very| highly| quite| rather| most)?"
    r" (?:unlikely|doubtful|false|untrue|not (?:true|likely|the case|correct))"
    r"|(?:(?:it|that) )?(?:does not|doesn't|would not|wouldn't) (?:seem|appear|look))"
    r"(?: that| whether| if| like| as if| as though)?\s+",
    re.IGNORECASE,
)
# What stands before a clause without changing it: `I am sure that he would`.
CLAUSE = re.compile(
    rf"\W*(?:{SAY}|(?:i|we)(?:'d| would| do)? (?:expect|suppose|imagine)"
    r"|(?:i|we)(?:'m| am|'re| are| feel| would be)(?: pretty| quite| fairly| very| absolutely| rather)?"
    r" (?:sure|certain|confident|convinced|positive)"
    r"|(?:it|that)(?: is| would be|'s|'d be| seems| appears)(?: very| highly| quite| rather| most| pretty| fairly)?"
    r" (?:likely|clear|obvious|evident|certain|true|(?:safe|fair|reasonable) to (?:say|assume|conclude|expect))"
    r"|(?:(?:it|that) )?(?:would )?(?:seems?|appears?|looks?)|think|(?:this|that|which) (?:means|implies|suggests))"
    r"(?: that| like| as if| as though)?\s+",
    re.IGNORECASE,
)
# What calls a claim true or false: `the claim that he would be wet is false`.
JUDGED = re.compile(
    r"\W*(?:(?:i(?:'d| would)? (?:say|think|believe) )?(?:that )?)?(?:the|this|that|such an?)"
    r" (?:claim|statement|assertion|idea|assumption|suggestion|notion|proposition|premise|hypothesis)"
    r"(?: that (?P<clause>.+?))? (?:is|would be|must be)(?: (?:clearly|definitely|probably|likely|simply|most likely))?"
    r" (?:(?P<no>not (?:true|correct|right|accurate)|false|wrong|untrue|incorrect|mistaken|inaccurate)"
    r"|(?:true|correct|right|accurate))\b",
    re.IGNORECASE,
)
# What stands for the question after such a beginning: `I doubt it`, `it seems so`.
CLAUSE_SO = re.compile(
    rf"(?:so|it|that(?: way)?|to be(?: the case| so| true)?|(?:that|this|it)(?:'s| is|'d be"
    rf"| would be) the case){_ENDS}",
    re.IGNORECASE,
)
# What opens a reply that goes on with a whole sentence: `certainly, he would`.
AGREED = re.compile(
    rf"(?:{FIXED_YES.pattern}|\W*(?:indeed|surely|definitely|certainly|absolutely|of course))(?:[,.!;:-]+\s*|\s+)"
    r"(?=(?:it|they|he|she|there|this|that|these|those|the|his|her|its|their|we|you|i)\b)",
    re.IGNORECASE,
)
_OPPOSITES = """
wet/dry soaked/dry open/closed open/shut bright/dark light/dark lit/dark full/empty on/off up/down hot/cold
warm/cold warm/cool safe/dangerous clean/dirty visible/hidden visible/invisible standing/sitting standing/lying
awake/asleep alive/dead moving/still moving/parked moving/stopped big/small large/small tall/short long/short
high/low fast/slow quick/slow heavy/light loud/quiet easy/hard easy/difficult happy/sad young/old new/old
thick/thin more/less more/fewer inside/outside indoors/outdoors day/night present/absent there/gone broken/intact
covered/uncovered dressed/naked sunny/cloudy sunny/rainy same/different able/unable possible/impossible
legal/illegal stable/unstable blocked/clear crowded/empty busy/empty left/right front/back above/below before/after
cooked/raw float/sink win/lose rise/fall remain/leave stay/leave alone/accompanied
"""
# Words of which one in a reply and the other in the question may mean a no, whatever the reply opens with.
OPPOSITES = tuple((first, second) for first, _, second in (pair.partition("/") for pair in _OPPOSITES.split()))
_SUBJECT = (
    r"(?:(?:it|they|he|she|there|this|that|these|those|we|you|i)"
    r"|the (?!question|issue|problem|point|answer|image|picture|photo|scene|thing)\w+(?: \w+)?)"
)
VERB = r"(?:would|will|could|is|are|was|were|does|do|did|can|has|have|should)"
_ADVERB = r"(?: (?:still|most|almost|certainly|definitely|indeed|surely|absolutely|probably|likely|clearly|also|sure))*"
# A sentence that leaves out what was asked: `it would not`.
ELLIPTIC = re.compile(
    rf"\W*(?:indeed,? )?{_SUBJECT}{_ADVERB}(?:'d|'s|'re|'ll| {VERB})?{_ADVERB}(?P<no> not|n't)?{_ADVERB}"
    rf"(?: be| have| do)?(?: one| some| any)?(?: so| anymore| any more| any longer)?{_ADVERB}\W*",
    re.IGNORECASE,
)
NONE_THERE = re.compile(
    rf"\W*there(?: {VERB})?(?: be)? (?:none|nobody|no one)(?: left| there| remaining)?\W*", re.IGNORECASE
)
# What changes nothing of what a sentence says.
FILLERS = re.compile(
    r"\b(?:at all|in the least|whatsoever|any ?more|any longer|as well|too|either|regardless|either way|in any case"
    r"|anyway"
    r"|though|yet|indeed)\b",
    re.IGNORECASE,
)
# What may follow an answer without changing it.
TRAILING = re.compile(
    r",? (?:i (?:think|believe|suppose|would say|imagine)|in (?:my opinion|all likelihood|all probability|general)|most"
    r" (?:likely|probably)|of course|for sure|without (?:a )?doubt)\W*$",
    re.IGNORECASE,
)
# Where the reason begins that a sentence gives for what it says.
REASON = re.compile(
    r",\s*(?:as|so|which|making|leaving|given|due|thanks|and (?:so|thus|therefore|hence)|even|regardless)\b"
    r"|\s+(?:due to|thanks to|because|since|regardless)\b",
    re.IGNORECASE,
)
# How a reason begins.
GIVES_REASON = re.compile(r"\W*(?:because|since|as|given|due)\b", re.IGNORECASE)
