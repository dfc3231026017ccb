import type { AskWatcher, Call, Dispatch, Answer } from '../../src/plugin.ts'
import type { Taken } from './taken.ts'

/** Gives places back, and takes them again for what goes on: that is never refused. */
export interface Places {
  leave(taken: readonly Taken[]): void
  again(taken: readonly Taken[]): readonly Taken[] | Promise<readonly Taken[]>
}

/**
 * The places of one request on the rules that bound what is under way. It has them while its client waits for the answer, and while one of
 * its calls is at a server – also for a task that its client was answered with. A call whose client is asked is not under way: nobody
 * works for it, and a client may think for as long as it likes.
 */
export class Held implements AskWatcher {
  readonly #places: Places
  readonly #all: readonly Taken[]
  #has: readonly Taken[] | undefined
  #isOpen: boolean
  #isOver = false
  #calls = 0
  #isAsked = false
  /** Counts how often it took its places or gave them back: places that come late may be for a time that is over. */
  #round = 0

  /** `taken` is what it has already. It is open while its client waits, until `answered`. */
  constructor(places: Places, taken: readonly Taken[], isOpen: boolean) {
    this.#places = places
    this.#all = this.#has = taken
    this.#isOpen = isOpen
  }

  /** Its client was answered. One that is to make the same request again has its places by that one. */
  answered(isToCome: boolean): void {
    this.#isOpen = false
    this.#isOver ||= isToCome
    this.#update()
  }

  /** Makes one of its calls. */
  dispatch(call: Call, next: Dispatch): Promise<Answer> {
    if (this.#all.length === 0) return next(call)
    const ends = (): void => {
      this.#calls--
      call.exchange.unwatchAsks(this)
      this.#update()
    }
    this.#calls++
    // A task goes on in an exchange of its own.
    call.exchange.watchAsks(this)
    this.#update()
    const answer = next(call)
    answer.then(ends, ends)
    return answer
  }

  askingBegins(): void {
    this.#isAsked = true
    this.#update()
  }

  askingEnds(): undefined {
    this.#isAsked = false
    this.#update()
    return undefined
  }

  #update(): void {
    const isUnderWay = this.#isOpen || (this.#calls > 0 && !this.#isAsked && !this.#isOver)
    if (isUnderWay === (this.#has !== undefined)) return
    this.#round++
    if (this.#has !== undefined) this.#leave(this.#has)
    else this.#takeAgain()
  }

  #leave(has: readonly Taken[]): void {
    this.#has = undefined
    this.#places.leave(has)
  }

  #takeAgain(): void {
    const round = this.#round
    this.#has = []
    const taken = this.#places.again(this.#all)
    if (!(taken instanceof Promise)) this.#has = taken
    else
      void taken.then(late => {
        if (this.#round === round) this.#has = late
        else this.#places.leave(late)
      })
  }
}
