import { matches, NOTHING, takesNothing, type Machine, type State } from './linear-machine.ts'

/** A piece of the machine: where it begins, and what it does where it ends. */
interface Piece {
  readonly start: number
  readonly attach: (to: number) => void
}

const MAX_STATES = 2000
const MAX_REPEAT = 100
const isWord = (character: string): boolean => /^\w$/.test(character)

const CLASSES: Readonly<Record<string, (character: string) => boolean>> = {
  d: character => character >= '0' && character <= '9',
  w: isWord,
  s: character => /^\s$/.test(character),
}
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

/**
 * A regular expression whose time is linear in the text, whoever wrote it: all ways are walked side by side. It has what
 * keywords need – classes, groups, `|`, `? * + {m,n}`, `^ $ \b` – and no look-around or references. Case does not count.
 * @throws SyntaxError that says what it does not have
 */
export function linearPattern(pattern: string): (text: string) => boolean {
  const machine = new Builder(pattern.toLowerCase().replace(/\\[DSWB]/gi, same(pattern))).build()
  return text => matches(machine, text.toLowerCase())
}

/** Lower case is for what is compared, not for `\D`. */
function same(original: string): (found: string, at: number) => string {
  return (found, at) => original.slice(at, at + found.length)
}

/** Reads a pattern by descent, and builds the machine on the way. */
class Builder {
  readonly #pattern: string
  readonly #states: State[] = []
  #at = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  build(): Machine {
    const whole = this.#either()
    if (this.#at < this.#pattern.length) throw this.#wrong('a ")" too many')
    whole.attach(this.#add({ free: () => NOTHING, takes: takesNothing, next: -1, isEnd: true }))
    return { states: this.#states, start: whole.start }
  }

  #either(): Piece {
    const ways = [this.#sequence()]
    while (this.#eat('|')) ways.push(this.#sequence())
    const [only] = ways
    if (ways.length === 1 && only !== undefined) return only
    return {
      start: this.#fork(ways.map(({ start }) => start)),
      attach: to => ways.forEach(way => way.attach(to)),
    }
  }

  #sequence(): Piece {
    const first: number[] = []
    let whole: Piece = { start: this.#fork(first), attach: to => void first.push(to) }
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#peek())) {
      const from = this.#at
      const repeated = this.#repeated(this.#atom(), from)
      const { start, attach } = whole
      attach(repeated.start)
      whole = { start, attach: repeated.attach }
    }
    return whole
  }

  /** What follows an atom; it is read again for each time that it must be there. */
  #repeated(atom: Piece, from: number): Piece {
    const end = this.#at
    const [least, most] = this.#bounds()
    const after = this.#at
    if (least === 1 && most === 1) return atom
    const times = most === Infinity ? Math.max(least, 1) : most
    if (times > MAX_REPEAT) throw this.#wrong(`more than ${MAX_REPEAT} times`)
    const copies = [atom]
    while (copies.length < times) {
      this.#at = from
      copies.push(this.#atom())
      if (this.#at !== end) throw this.#wrong('a repetition')
    }
    this.#at = after
    return this.#chain(copies, least, most === Infinity)
  }

  /** One after another, with a way out behind each that may be the last; the last may come again for ever. */
  #chain(copies: readonly Piece[], least: number, isEndless: boolean): Piece {
    const gates = copies.map((): number[] => [])
    const places = gates.map(gate => this.#fork(gate))
    const exits: ((to: number) => void)[] = []
    copies.forEach((copy, index) => {
      const [gate, following] = [gates[index], places[index + 1]]
      gate?.push(copy.start)
      if (index >= least) exits.push(to => void gate?.push(to))
      if (following !== undefined) copy.attach(following)
      else exits.push(copy.attach)
    })
    if (!isEndless) return { start: places[0] ?? 0, attach: to => exits.forEach(exit => exit(to)) }
    const loop = [copies.at(-1)?.start ?? 0]
    copies.at(-1)?.attach(this.#fork(loop))
    const ways = exits.slice(0, -1)
    return {
      start: places[0] ?? 0,
      attach: to => [(way: number) => void loop.push(way), ...ways].forEach(exit => exit(to)),
    }
  }

  #bounds(): [number, number] {
    const bounds = this.#written()
    // Greed does not change whether there is a match.
    if (bounds !== undefined) this.#eat('?')
    if (bounds !== undefined && /^([*+?]|\{\d)/.test(this.#pattern.slice(this.#at)))
      throw this.#wrong('a repetition of a repetition')
    return bounds ?? [1, 1]
  }

  #written(): [number, number] | undefined {
    if (this.#eat('*')) return [0, Infinity]
    if (this.#eat('+')) return [1, Infinity]
    if (this.#eat('?')) return [0, 1]
    const braces = /^\{(\d{1,4})(?:(,)(\d{0,4}))?\}/.exec(this.#pattern.slice(this.#at))
    if (braces === null) return undefined
    this.#at += braces[0].length
    const least = Number(braces[1])
    const most = braces[2] === undefined ? least : braces[3] === '' ? Infinity : Number(braces[3])
    if (most < least || most === 0) throw this.#wrong('a repetition that is never')
    return [least, most]
  }

  #atom(): Piece {
    const character = this.#take()
    if (character === '(') return this.#group()
    if (character === '[') return this.#taking(this.#set())
    if (character === '.') return this.#taking(other => other !== '\n')
    if (character === '^') return this.#placed(before => before === '')
    if (character === '$') return this.#placed((_, after) => after === '')
    if (character === '\\') return this.#escape()
    if ('*+?'.includes(character)) throw this.#wrong(`"${character}" with nothing before it`)
    return this.#taking(other => other === character)
  }

  #group(): Piece {
    if (this.#eat('?') && !this.#eat(':')) throw this.#wrong('a group other than (…) and (?:…)')
    const inner = this.#either()
    if (!this.#eat(')')) throw this.#wrong('a "(" without its ")"')
    return inner
  }

  #escape(): Piece {
    const letter = this.#take()
    if (letter === 'b' || letter === 'B') {
      const isMeant = letter === 'b'
      return this.#placed((before, after) => (isWord(before) !== isWord(after)) === isMeant)
    }
    return this.#taking(this.#escaped(letter))
  }

  #escaped(letter: string): (character: string) => boolean {
    const known = CLASSES[letter]
    if (known !== undefined) return known
    const turned = CLASSES[letter.toLowerCase()]
    if (turned !== undefined) return character => !turned(character)
    if (/[a-z0-9]/i.test(letter) && ESCAPED[letter] === undefined) throw this.#wrong(`\\${letter}`)
    const meant = ESCAPED[letter] ?? letter
    return character => character === meant
  }

  #set(): (character: string) => boolean {
    const isTurned = this.#eat('^')
    const tests: ((character: string) => boolean)[] = []
    while (!this.#eat(']')) {
      const from = this.#take()
      if (from === '\\') tests.push(this.#escaped(this.#take()))
      else if (this.#peek() === '-' && this.#pattern.charAt(this.#at + 1) !== ']') {
        this.#at++
        const to = this.#take()
        if (to === '\\' || to < from) throw this.#wrong('a range in a class')
        tests.push(character => character >= from && character <= to)
      } else tests.push(character => character === from)
    }
    return character => tests.some(test => test(character)) !== isTurned
  }

  #taking(test: (character: string) => boolean): Piece {
    const takes = (character: string): boolean => character !== '' && test(character)
    const state: State = { free: () => NOTHING, takes, next: -1, isEnd: false }
    return { start: this.#add(state), attach: to => void (state.next = to) }
  }

  #placed(test: (before: string, after: string) => boolean): Piece {
    const next: number[] = []
    const free = (before: string, after: string): readonly number[] => (test(before, after) ? next : NOTHING)
    const state = { free, takes: takesNothing, next: -1, isEnd: false }
    return { start: this.#add(state), attach: to => void next.push(to) }
  }

  #fork(next: readonly number[]): number {
    return this.#add({ free: () => next, takes: takesNothing, next: -1, isEnd: false })
  }

  #add(state: State): number {
    if (this.#states.length >= MAX_STATES) throw this.#wrong('so much')
    return this.#states.push(state) - 1
  }

  #peek(): string {
    return this.#pattern.charAt(this.#at)
  }

  #take(): string {
    const character = this.#pattern.charAt(this.#at++)
    if (character === '') throw this.#wrong('an end in the middle')
    return character
  }

  #eat(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#at++
    return true
  }

  #wrong(what: string): SyntaxError {
    return new SyntaxError(
      `the pattern "${this.#pattern}" has ${what}, at ${Math.min(this.#at, this.#pattern.length) + 1}`,
    )
  }
}
