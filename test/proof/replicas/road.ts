import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** What a road is told. */
export interface Order {
  readonly isCut?: boolean
  readonly delayMs?: number
}

/** A road of TCP that can be cut, and made slow, without either end being told. */
class Road {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isCut = false
  #delayMs = 0

  constructor(to: number, ready: (port: number) => void) {
    this.#server = createServer(near => {
      const far = connect(to, '127.0.0.1')
      this.#join(near, far, () => this.#delayMs)
      this.#join(far, near, () => 0)
    })
    this.#server.listen(0, '127.0.0.1', () => ready((this.#server.address() as AddressInfo).port))
  }

  obey({ isCut = this.#isCut, delayMs = this.#delayMs }: Order): void {
    this.#isCut = isCut
    this.#delayMs = delayMs
    for (const socket of this.#sockets) socket[isCut ? 'pause' : 'resume']()
  }

  #join(from: Socket, to: Socket, delayMs: () => number): void {
    this.#sockets.add(from)
    if (this.#isCut) from.pause()
    from.on('data', chunk => {
      const pass = (): void => void (to.destroyed || to.write(chunk))
      if (delayMs() === 0) pass()
      else setTimeout(pass, delayMs())
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
  }
}

const road = new Road(Number(process.argv[2]), port => process.send?.(port))
process.on('message', (order: Order) => road.obey(order))
process.on('disconnect', () => process.exit())
