/* link.c: copies messages between one WebSocket and the wrapper. */
#include "ws/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/mem.h"
#include "common/wslink.h"
#include "ws/request.h"

/* Less than the time that a client has to answer a ping (service.c). */
enum { WAITING_SECONDS = 20 };

/* ---- opening */

static int
send_handshake(struct lws *ws, int pair)
{
	auto_json json_t *msg = request_describe(ws);
	struct err ignored;

	return channel_send(pair, msg, NULL, 0, &ignored);
}

int
link_open(struct link *l, struct lws *ws, int pair)
{
	lws_sock_file_fd_type ours = { .filefd =
					   fcntl(pair, F_DUPFD_CLOEXEC, 0) };

	*l = (struct link){ .ws = ws, .fd = -1, .pair = pair };
	if (ours.filefd < 0)
		return -1;
	fcntl(ours.filefd, F_SETFL, O_NONBLOCK);
	l->wrapper = lws_adopt_descriptor_vhost(lws_get_vhost(ws),
	    LWS_ADOPT_RAW_FILE_DESC, ours, LINK_WRAPPER, ws);
	if (l->wrapper == NULL)
		return -1; /* libwebsockets has closed the descriptor */
	l->fd = ours.filefd;
	l->packet = xmalloc(LWS_PRE + WSLINK_MAX);
	return send_handshake(ws, pair);
}

void
link_close(struct link *l)
{
	lws_buflist_destroy_all_segments(&l->waiting);
	free(l->packet);
	l->packet = NULL;
}

/* ---- from the client to the wrapper */

static ssize_t
send_packet(const struct link *l, const void *packet, size_t len)
{
	return send(l->fd, packet, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int
send_waiting(struct link *l)
{
	unsigned char *packet;
	size_t len;

	while ((len = lws_buflist_next_segment_len(&l->waiting, &packet)) > 0) {
		if (send_packet(l, packet, len) < 0) {
			if (errno != EAGAIN)
				return -1;
			return lws_callback_on_writable(l->wrapper) < 0 ? -1
									: 0;
		}
		lws_buflist_use_segment(&l->waiting, len);
	}
	return lws_rx_flow_control(l->ws, 1);
}

int
link_receive(struct link *l, const void *data, size_t len)
{
	auto_free unsigned char *packet = xmalloc(1 + len);

	/* data proves that the client lives; its pong may be far behind */
	lws_validity_confirmed(l->ws);
	if (l->wrapper == NULL)
		return 0; /* a close frame is under way */
	packet[0] = (unsigned char)(lws_frame_is_binary(l->ws) ? WSLINK_BINARY
							       : WSLINK_TEXT);
	if (lws_is_final_fragment(l->ws))
		packet[0] |= WSLINK_FIN;
	memcpy(packet + 1, data, len);
	if (l->waiting == NULL) {
		if (send_packet(l, packet, 1 + len) >= 0)
			return 0;
		if (errno != EAGAIN)
			return -1;
	}
	if (lws_buflist_append_segment(&l->waiting, packet, 1 + len) < 0)
		return -1;
	lws_rx_flow_control(l->ws, 0);
	lws_set_timer_usecs(l->ws, WAITING_SECONDS * LWS_USEC_PER_SEC);
	return lws_callback_on_writable(l->wrapper) < 0 ? -1 : 0;
}

void
link_timer(struct link *l)
{
	if (l->waiting == NULL)
		return;
	lws_validity_confirmed(l->ws);
	lws_set_timer_usecs(l->ws, WAITING_SECONDS * LWS_USEC_PER_SEC);
}

/* ---- from the wrapper to the client */

/* The data of the packet; the byte before it is the kind of wslink.h. */
static unsigned char *
data_of(const struct link *l)
{
	return l->packet + LWS_PRE;
}

static int
read_packet(struct link *l)
{
	ssize_t n;

	if (l->full)
		return 0;
	n = recv(l->fd, data_of(l) - 1, 1 + WSLINK_MAX, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	l->full = true;
	l->len = (size_t)n - 1;
	lws_rx_flow_control(l->wrapper, 0);
	return lws_callback_on_writable(l->ws) < 0 ? -1 : 0;
}

static int
send_close(const struct link *l)
{
	unsigned char *why = data_of(l);
	enum { CODE = 2, WHY_MAX = 123 };
	size_t len = l->len;

	if (len < CODE)
		return -1;
	len = len - CODE < WHY_MAX ? len - CODE : WHY_MAX;
	lws_close_reason(l->ws, (enum lws_close_status)(why[0] << 8 | why[1]),
	    why + CODE, len);
	return -1;
}

static int
write_packet(struct link *l)
{
	int what = data_of(l)[-1];
	int how = (what & WSLINK_KIND) == WSLINK_BINARY ? LWS_WRITE_BINARY
							: LWS_WRITE_TEXT;

	if ((what & WSLINK_KIND) == WSLINK_CLOSE)
		return send_close(l);
	if (l->in_message)
		how = LWS_WRITE_CONTINUATION;
	l->in_message = (what & WSLINK_FIN) == 0;
	if (l->in_message)
		how |= LWS_WRITE_NO_FIN;
	if (lws_write(l->ws, data_of(l), l->len, (enum lws_write_protocol)how) <
	    (int)l->len)
		return -1;
	l->full = false;
	return 0;
}

int
link_writable(struct link *l, bool leave)
{
	if (l->full && write_packet(l) < 0)
		return -1;
	if (leave || l->over) {
		lws_close_reason(l->ws,
		    leave ? LWS_CLOSE_STATUS_GOINGAWAY
			  : LWS_CLOSE_STATUS_UNEXPECTED_CONDITION,
		    NULL, 0);
		return -1;
	}
	return l->wrapper != NULL ? lws_rx_flow_control(l->wrapper, 1) : 0;
}

/* ---- end of the wrapper's side */

void
link_lost(struct link *l)
{
	l->wrapper = NULL;
	l->over = true;
	/* the wrapper's next send must fail: no packet is read any more */
	shutdown(l->pair, SHUT_RD);
	if (l->packet == NULL)
		return; /* the WebSocket itself is closing */
	lws_rx_flow_control(l->ws, 1);
	lws_callback_on_writable(l->ws);
}

static struct link *
link_of(struct lws *wrapper)
{
	struct lws *ws = lws_get_parent(wrapper);
	struct link *l = ws != NULL ? lws_wsi_user(ws) : NULL;

	return l != NULL && l->wrapper == wrapper ? l : NULL;
}

int
link_wrapper(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct link *l = link_of(wsi);

	(void)user, (void)in, (void)len;
	if (l == NULL)
		return 0;
	switch ((int)reason) {
	case LWS_CALLBACK_RAW_RX_FILE:
		return read_packet(l);
	case LWS_CALLBACK_RAW_WRITEABLE_FILE:
		return send_waiting(l);
	default:
		return 0;
	}
}
