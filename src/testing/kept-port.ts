import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'

/**
 * A port of a server that is down: connections to it are refused, and nobody else is given it. A connection goes out from
 * that very port, so that it is taken, and nobody listens there.
 */
export class KeptPort {
  readonly #holder: Server
  readonly #socket: Socket

  private constructor(holder: Server, socket: Socket) {
    this.#holder = holder
    this.#socket = socket
  }

  /** @throws Error EADDRINUSE when somebody else was given it meanwhile */
  static async keep(port: number): Promise<KeptPort> {
    const holder = createServer(socket => socket.unref().on('error', () => undefined))
    await new Promise<void>(resolve => holder.listen(0, '127.0.0.1', resolve))
    const { port: to } = holder.address() as AddressInfo
    const socket = connect({ port: to, host: '127.0.0.1', localPort: port, localAddress: '127.0.0.1' })
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve)
        socket.once('error', reject)
      })
    } catch (error) {
      holder.close()
      throw error
    }
    socket.on('error', () => undefined)
    holder.unref()
    socket.unref()
    return new KeptPort(holder, socket)
  }

  /** Gives it up at once, for the next who listens there. */
  async free(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#socket.once('close', () => resolve()))
    this.#socket.resetAndDestroy()
    await closed
    await new Promise<void>(resolve => this.#holder.close(() => resolve()))
  }
}
