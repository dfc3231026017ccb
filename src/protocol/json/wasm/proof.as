// Proves that bytes are JSON (RFC 8259), in pieces: AssemblyScript, compiled by `npm run gen` to proof.gen.ts.
// Accepts what JSON.parse accepts, up to 64 levels and 10^6 names and values. It gives no reasons.

/** First byte of the piece that is looked at; the brackets that are open stand before it. */
const PIECE: usize = 1024
const MAX_DEPTH: i32 = 64
const MAX_TOKENS: i32 = 1_000_000
/** Bytes that are looked at as one number of 64 bits. */
const BLOCK: usize = 64
const ALL: u64 = 0xffffffffffffffff
const ODD_PLACES: u64 = 0xaaaaaaaaaaaaaaaa
/** Escapes of a string after which blocks are cheaper than single steps. */
const FEW_ESCAPES: i32 = 3

const QUOTE: u32 = 0x22
const COMMA: u32 = 0x2c
const COLON: u32 = 0x3a
const LETTER_U: u32 = 0x75
const MINUS: u32 = 0x2d
const OPEN_ARRAY: u32 = 0x5b
const BACKSLASH: u32 = 0x5c
const OPEN_OBJECT: u32 = 0x7b
const CLOSE_OBJECT: u32 = 0x7d

// What comes next.
const VALUE: i32 = 0
const FIRST_ELEMENT: i32 = 1
const FIRST_NAME: i32 = 2
const NAME: i32 = 3
const COLON_NEXT: i32 = 4
const AFTER: i32 = 5
const IN_NAME: i32 = 6
const IN_STRING: i32 = 7

// How a piece ended.
const MORE: i32 = 0
const DONE: i32 = 1
const REFUSED: i32 = 2

let next: i32 = VALUE
let bottom: i32 = 0
let depth: i32 = 0
let seen: i32 = 0
let outcome: i32 = MORE
let nulls: i32 = 0

/** Begins a value that nests at `level`, after so many names and values. */
export function beginValue(level: i32, tokens: i32): void {
  next = VALUE
  bottom = depth = level - 1
  seen = tokens
  nulls = 0
}

/** Begins behind the quote that opens a string. */
export function beginString(): void {
  next = IN_STRING
  bottom = depth = 0
}

/** How the last piece ended: 0 wants more, 1 the value has ended, 2 not accepted here. */
export function ended(): i32 {
  return outcome
}

/** 1 if the value contains `null` outside of strings. */
export function hasNull(): i32 {
  return nulls
}

/** Names and values seen until now. */
export function tokens(): i32 {
  return seen
}

/**
 * Reads the next piece, of `length` bytes; returns how many of them need not be given again. One loop with its state in
 * locals: this costs by the value. A zero behind the piece stops every search.
 */
export function read(length: i32): i32 {
  const end: usize = PIECE + length
  store<u8>(end, 0)
  let at: usize = PIECE
  let level = depth
  let count = seen
  let state = next
  let how = MORE
  while (true) {
    if (state >= IN_NAME) {
      at = string(at, end)
      how = outcome
      if (how != DONE) break
      how = MORE
      if (state == IN_STRING) state = AFTER
      else if (load<u8>(at) == COLON) {
        at++
        state = VALUE
      } else state = COLON_NEXT
    }
    if (state == AFTER && level == bottom) {
      how = DONE
      break
    }
    let byte: u32 = load<u8>(at)
    if (byte <= 0x20) {
      at = space(at)
      byte = load<u8>(at)
      if (at >= end) break
    }
    if (state == AFTER) {
      const close: u32 = load<u8>(level)
      if (byte == COMMA) {
        at++
        if (close != CLOSE_OBJECT) {
          // Many lists hold whole numbers alone; the zero behind the piece is no comma.
          while (count < MAX_TOKENS) {
            let after = wholeNumber(at)
            if (after == at && load<u8>(at) == 0x20) after = wholeNumber(++at)
            if (load<u8>(after) != COMMA || after == at) break
            count++
            at = after + 1
          }
          state = VALUE
        } else if (load<u8>(at) == QUOTE && count < MAX_TOKENS) {
          at++
          count++
          state = IN_NAME
        } else state = NAME
        continue
      }
      if (byte != close) {
        how = REFUSED
        break
      }
      level--
      at++
      continue
    }
    if (state != VALUE) {
      if (state == COLON_NEXT) {
        if (byte != COLON) {
          how = REFUSED
          break
        }
        at++
        state = VALUE
        continue
      }
      if (state != NAME && byte == <u32>load<u8>(level)) {
        level--
        at++
        state = AFTER
        continue
      }
      if (state != FIRST_ELEMENT) {
        if (byte != QUOTE || ++count > MAX_TOKENS) {
          how = REFUSED
          break
        }
        at++
        state = IN_NAME
        continue
      }
      state = VALUE
    }
    if (byte == QUOTE) {
      at++
      state = IN_STRING
    } else if (byte == OPEN_OBJECT || byte == OPEN_ARRAY) {
      if (level == MAX_DEPTH) {
        how = REFUSED
        break
      }
      store<u8>(++level, <u8>(byte + 2))
      state = byte == OPEN_OBJECT ? FIRST_NAME : FIRST_ELEMENT
      at++
    } else {
      const after = isDigit(byte) || byte == MINUS ? number(at, end) : word(at, end, byte)
      if (after == 0) {
        how = REFUSED
        break
      }
      // The piece may end in its middle.
      if (after >= end) break
      at = after
      state = AFTER
    }
    if (++count > MAX_TOKENS) {
      how = REFUSED
      break
    }
  }
  next = state
  depth = level
  seen = count
  outcome = how
  return <i32>(at - PIECE)
}

/** Passes over white space; long runs of it indent what people read. */
// @ts-ignore: decorator
@inline
function space(from: usize): usize {
  let at = from
  while (true) {
    const block = v128.load(at)
    const blanks = v128.or(
      v128.or(i8x16.eq(block, i8x16.splat(0x20)), i8x16.eq(block, i8x16.splat(0x0a))),
      v128.or(i8x16.eq(block, i8x16.splat(0x0d)), i8x16.eq(block, i8x16.splat(0x09))),
    )
    const bits = ~i8x16.bitmask(blanks) & 0xffff
    if (bits != 0) return at + <usize>ctz(bits)
    at += 16
  }
}

/**
 * Reads on in a string, sixteen bytes at a time; `outcome` tells whether it ended. Where escapes are many, whole blocks are
 * read at once.
 */
function string(from: usize, end: usize): usize {
  const quotes = i8x16.splat(0x22)
  const slashes = i8x16.splat(0x5c)
  const blank = i8x16.splat(0x20)
  let at = from
  let escapes = 0
  while (true) {
    const block = v128.load(at)
    const signs = v128.or(v128.or(i8x16.eq(block, quotes), i8x16.eq(block, slashes)), i8x16.lt_u(block, blank))
    const bits = i8x16.bitmask(signs)
    if (bits == 0) {
      at += 16
      continue
    }
    at += <usize>ctz(bits)
    if (at >= end) return stop(end, MORE)
    const byte: u32 = load<u8>(at)
    if (byte == QUOTE) return stop(at + 1, DONE)
    if (byte != BACKSLASH) return stop(at, REFUSED)
    if (++escapes == FEW_ESCAPES && at + BLOCK <= end) {
      escapes = 0
      at = blocks(at, end)
      if (outcome != MORE) return at
      continue
    }
    const sign: u32 = load<u8>(at + 1)
    if (sign == LETTER_U) {
      if (at + 6 > end) return stop(at, MORE)
      if (!isCode(at)) return stop(at, REFUSED)
      at += 6
    } else if (isEscape(sign)) {
      at += 2
    } else return stop(at, at + 1 >= end ? MORE : REFUSED)
  }
}

/** Reads on in a string by whole blocks, as long as there are some; `outcome` is MORE where it goes on. */
function blocks(from: usize, end: usize): usize {
  let at = from
  outcome = MORE
  escaping = 0
  while (at + BLOCK <= end) {
    const escaped = escapedIn(bitsOf(at, 0x5c))
    const quotes = bitsOf(at, 0x22) & ~escaped
    // All bits below the quote that ends the string.
    const text: u64 = quotes == 0 ? ALL : (quotes - 1) & ~quotes
    if ((controlsIn(at) & text) != 0) return stop(at, REFUSED)
    let others: u64 = escaped & text
    if (others != 0) others &= ~usualEscapesIn(at)
    while (others != 0) {
      // The backslash may be the last byte of the block before.
      const place = at + <usize>ctz(others) - 1
      const sign: u32 = load<u8>(place + 1)
      if (sign == LETTER_U) {
        if (place + 6 > end) return stop(place, MORE)
        if (!isCode(place)) return stop(place, REFUSED)
      } else if (sign != 0x2f) return stop(place, REFUSED)
      others &= others - 1
    }
    if (quotes != 0) return stop(at + <usize>ctz(quotes) + 1, DONE)
    at += BLOCK
  }
  return at - <usize>escaping
}

/** 1 where the last byte of a block is a backslash that escapes the first one of the next. */
let escaping: u64 = 0

/** Marks the bytes of a block that a backslash escapes, one bit each. Runs of backslashes escape in pairs. */
// @ts-ignore: decorator
@inline
function escapedIn(backslashes: u64): u64 {
  if (backslashes == 0) {
    const first = escaping
    escaping = 0
    return first
  }
  const slashes: u64 = backslashes & ~escaping
  const follows: u64 = (slashes << 1) | escaping
  const oddStarts: u64 = slashes & ODD_PLACES & ~follows
  const sum: u64 = oddStarts + slashes
  escaping = <u64>(sum < slashes)
  return ((sum << 1) ^ ~ODD_PLACES) & follows
}

/** Marks the bytes of a block that are this one. */
// @ts-ignore: decorator
@inline
function bitsOf(at: usize, byte: i8): u64 {
  const sign = i8x16.splat(byte)
  return joined(
    i8x16.bitmask(i8x16.eq(v128.load(at), sign)),
    i8x16.bitmask(i8x16.eq(v128.load(at, 16), sign)),
    i8x16.bitmask(i8x16.eq(v128.load(at, 32), sign)),
    i8x16.bitmask(i8x16.eq(v128.load(at, 48), sign)),
  )
}

/** Marks the control characters of a block. */
// @ts-ignore: decorator
@inline
function controlsIn(at: usize): u64 {
  const blank = i8x16.splat(0x20)
  const least = v128.or(
    v128.or(i8x16.lt_u(v128.load(at), blank), i8x16.lt_u(v128.load(at, 16), blank)),
    v128.or(i8x16.lt_u(v128.load(at, 32), blank), i8x16.lt_u(v128.load(at, 48), blank)),
  )
  if (!v128.any_true(least)) return 0
  return joined(
    i8x16.bitmask(i8x16.lt_u(v128.load(at), blank)),
    i8x16.bitmask(i8x16.lt_u(v128.load(at, 16), blank)),
    i8x16.bitmask(i8x16.lt_u(v128.load(at, 32), blank)),
    i8x16.bitmask(i8x16.lt_u(v128.load(at, 48), blank)),
  )
}

/** Marks `"`, `\`, `b`, `f`, `n`, `r` and `t`, by both halves of each byte. */
// @ts-ignore: decorator
@inline
function usualEscapesIn(at: usize): u64 {
  return joined(usualIn(at), usualIn(at + 16), usualIn(at + 32), usualIn(at + 48))
}

// @ts-ignore: decorator
@inline
function usualIn(at: usize): i32 {
  const block = v128.load(at)
  // Bits: 1 for 0x2_, 2 for 0x5_, 4 for 0x6_, 8 for 0x7_.
  const lows = i8x16(0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 0)
  const highs = i8x16(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0)
  const low = i8x16.swizzle(lows, v128.and(block, i8x16.splat(0x0f)))
  const high = i8x16.swizzle(highs, i8x16.shr_u(block, 4))
  return i8x16.bitmask(i8x16.ne(v128.and(low, high), i8x16.splat(0)))
}

// @ts-ignore: decorator
@inline
function joined(first: i32, second: i32, third: i32, fourth: i32): u64 {
  return <u64>(<u32>first | (<u32>second << 16)) | (<u64>(<u32>third | (<u32>fourth << 16)) << 32)
}

/** Tells whether four hex digits follow on the `\u` at `at`. */
function isCode(at: usize): bool {
  for (let digit: usize = 2; digit < 6; digit++) if (!isHex(load<u8>(at + digit))) return false
  return true
}

function stop(at: usize, how: i32): usize {
  outcome = how
  return at
}

/** Where the number that begins at `at` ends; 0 where it is none, `end` where it may go on. */
function number(from: usize, end: usize): usize {
  let at = from
  if (load<u8>(at) == 0x2d) at++
  if (at >= end) return end
  if (load<u8>(at) == 0x30) at++
  else {
    const first = at
    while (at < end && isDigit(load<u8>(at))) at++
    if (at == first) return 0
  }
  if (at >= end) return end
  if (load<u8>(at) == 0x2e) {
    const first = ++at
    while (at < end && isDigit(load<u8>(at))) at++
    if (at >= end) return end
    if (at == first) return 0
  }
  if ((<u32>load<u8>(at) | 0x20) != 0x65) return at
  if (++at >= end) return end
  if (load<u8>(at) == 0x2d || load<u8>(at) == 0x2b) at++
  const first = at
  while (at < end && isDigit(load<u8>(at))) at++
  if (at >= end) return end
  return at == first ? 0 : at
}

/** Finds the end of the whole number without a sign that begins at `from`; `from` itself where there is none. */
// @ts-ignore: decorator
@inline
function wholeNumber(from: usize): usize {
  if (load<u8>(from) == 0x30) return from + 1
  let at = from
  while (isDigit(load<u8>(at))) at++
  return at
}

/** Where `true`, `false` or `null` ends; 0 where it is none of them, `end` where it may go on. */
function word(at: usize, end: usize, first: u32): usize {
  if (at + 5 >= end) return end
  const four = load<u32>(at)
  if (first == 0x74) return four == 0x65757274 ? at + 4 : 0
  if (first == 0x6e) {
    nulls = 1
    return four == 0x6c6c756e ? at + 4 : 0
  }
  if (first == 0x66) return four == 0x736c6166 && load<u8>(at + 4) == 0x65 ? at + 5 : 0
  return 0
}

function isDigit(byte: u32): bool {
  return byte - 0x30 <= 9
}

function isHex(byte: u32): bool {
  return byte - 0x30 <= 9 || (byte | 0x20) - 0x61 <= 5
}

/** Tells whether a character may stand behind a backslash: `"`, `\`, `/`, `b`, `f`, `n`, `r`, `t`. */
function isEscape(byte: u32): bool {
  if (byte == 0x22 || byte == 0x5c || byte == 0x2f) return true
  return byte == 0x62 || byte == 0x66 || byte == 0x6e || byte == 0x72 || byte == 0x74
}
