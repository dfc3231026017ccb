import type { Answer, Call, Notification, Session, UpstreamContext } from '../../api/index.ts'
import { Payload } from '../../protocol/payload.ts'
import type { Link } from '../connection/connection.ts'
import type { Supervisor } from '../supervisor.ts'
import { Watch } from './subscription.ts'

/** Where the calls of a session go: the supervisor of a link of its own that is up, or undefined for the main one. */
export type Home = (session: Session) => Supervisor | undefined

interface Hold {
  count: number
  watch: Watch
}

interface Held {
  readonly session: Session
  readonly uris: Map<string, Hold>
}

const DONE: Answer = Object.freeze({ result: Payload.of({}) })

/** Who watches which resources of a server: each session on the link that its calls take, and after its end on the next. */
export class Watches {
  readonly #context: UpstreamContext
  readonly #home: Home
  /** On the link that all share; it hears of changed lists, too. */
  readonly #main: Watch
  readonly #pooled = new Map<Supervisor, Watch>()
  readonly #held = new Map<string, Held>()

  constructor(context: UpstreamContext, home: Home) {
    this.#context = context
    this.#home = home
    this.#main = new Watch(context, { lists: true, notify: this.#teller(() => this.#main) })
  }

  /** Whether anybody watches a resource, on any link or on the one of this supervisor. */
  isWanted(supervisor?: Supervisor): boolean {
    return supervisor === undefined ? this.#held.size > 0 : this.#pooled.get(supervisor)?.isWanted === true
  }

  /** `resources/subscribe` on the link that the session's calls take. */
  async add(call: Call, link: Link): Promise<Answer> {
    const uri = String(call.params?.uri)
    const { session } = call.exchange
    const supervisor = this.#home(session)
    const watch = supervisor?.link === link ? this.#watchOf(supervisor) : this.#main
    const hold = this.#held.get(session.id)?.uris.get(uri)
    if (hold?.watch === watch) {
      hold.count++
      return DONE
    }
    const answer = await watch.add(uri, { call, link })
    if ('result' in answer) this.#note(session, uri, watch)
    // Its link may have ended, or come up, meanwhile.
    this.#rehome()
    return answer
  }

  /** `resources/unsubscribe`, wherever the session is subscribed. */
  async remove({ params, exchange }: Call): Promise<Answer> {
    const uri = String(params?.uri)
    const held = this.#held.get(exchange.session.id)
    const hold = held?.uris.get(uri)
    if (held === undefined || hold === undefined || --hold.count > 0) return DONE
    held.uris.delete(uri)
    if (held.uris.size === 0) this.#held.delete(exchange.session.id)
    await hold.watch.remove(uri)
    return DONE
  }

  /** The main link is another one now; undefined when there is none. */
  follow(link: Link | undefined): void {
    this.#main.follow(link)
    if (link !== undefined) this.#rehome()
  }

  /** A link beside the main one has come up or gone. */
  moved(supervisor: Supervisor): void {
    if (this.#pooled.size === 0 && this.#held.size === 0) return
    const watch = this.#pooled.get(supervisor)
    if (supervisor.link !== undefined && watch?.link !== supervisor.link) watch?.follow(supervisor.link)
    this.#rehome()
  }

  forget({ id }: Session): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    this.#held.delete(id)
    for (const [uri, { watch }] of held.uris) void watch.remove(uri)
  }

  stop(): void {
    for (const watch of [this.#main, ...this.#pooled.values()]) watch.stop()
  }

  /** Whom a change is told that came by the link of this supervisor; undefined for everybody who watches. */
  audienceOf(supervisor: Supervisor): ((session: Session) => boolean) | undefined {
    return this.#audience(this.#pooled.get(supervisor) ?? this.#main)
  }

  #audience(watch: Watch): ((session: Session) => boolean) | undefined {
    if (this.#pooled.size === 0) return undefined
    return ({ id }) => [...(this.#held.get(id)?.uris.values() ?? [])].some(hold => hold.watch === watch)
  }

  #teller(of: () => Watch): (notification: Notification) => void {
    return notification => this.#context.notify(notification, this.#audience(of()))
  }

  #watchOf(supervisor: Supervisor | undefined): Watch {
    if (supervisor === undefined) return this.#main
    const known = this.#pooled.get(supervisor)
    if (known !== undefined) return known
    const watch: Watch = new Watch(this.#context, { lists: false, notify: this.#teller(() => watch) })
    watch.follow(supervisor.link)
    this.#pooled.set(supervisor, watch)
    return watch
  }

  #note(session: Session, uri: string, watch: Watch): void {
    const held = this.#held.get(session.id) ?? { session, uris: new Map<string, Hold>() }
    this.#held.set(session.id, held)
    const before = held.uris.get(uri)
    held.uris.set(uri, { count: (before?.count ?? 0) + 1, watch })
    // It counts once, however often and wherever it was made meanwhile.
    void before?.watch.remove(uri)
  }

  /** Sees that each session is subscribed where its calls go now; it leaves the old link once the new one is told. */
  #rehome(): void {
    for (const { session, uris } of this.#held.values()) {
      const watch = this.#watchOf(this.#home(session))
      for (const [uri, hold] of uris) {
        const before = hold.watch
        if (before === watch) continue
        hold.watch = watch
        void watch.add(uri).then(() => before.remove(uri))
      }
    }
    this.#tidy()
  }

  /** Forgets the links that are gone. One that is up may be wanted again at any moment. */
  #tidy(): void {
    for (const [supervisor, watch] of this.#pooled)
      if (supervisor.link === undefined && !watch.isWanted) this.#pooled.delete(supervisor)
  }
}
