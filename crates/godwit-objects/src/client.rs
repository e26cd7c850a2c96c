//! The HTTP client: connections by hyper, TLS by rustls with the platform's root certificates.
//!
//! ```text
//!   request ─▶ HttpsConnector ─▶ Route ─┬─ HttpConnector ─▶ server
//!                                       └─ Tunnel ─▶ proxy that the environment names ─▶ server
//! ```

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::http::uri::{Authority, Scheme};
use hyper::http::{Method, StatusCode, Uri, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use object_store::HeaderValue;
use object_store::client::{
    HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody, HttpService,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tower_service::Service;
use url::Url;

use crate::config::{CONNECT_TIMEOUT, REDIRECTS_MAX, REQUEST_TIMEOUT};

/// Servers may refuse requests without a user agent.
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("godwit/", env!("CARGO_PKG_VERSION")));

type BoxError = Box<dyn Error + Send + Sync>;

/// Sends requests; clones share the connections.
#[derive(Debug, Clone)]
pub(crate) struct Client(legacy::Client<HttpsConnector<Route>, HttpRequestBody>);

impl Client {
    /// Creates a client without connections.
    pub(crate) fn new() -> io::Result<Self> {
        let tls = ClientConfig::builder().with_root_certificates(roots()?).with_no_client_auth();
        // Whether a store may be reached without encryption is decided where it is named.
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
        Ok(Self(builder.build(connector.wrap_connector(Route::new()))))
    }

    /// Sends a request once, without interpreting the answer.
    async fn send(&self, request: HttpRequest, deadline: Instant) -> Result<hyper::Response<Incoming>, HttpError> {
        match timeout_at(deadline, self.0.request(request)).await {
            Ok(answer) => answer.map_err(|error| {
                let kind = if error.is_connect() { HttpErrorKind::Connect } else { kind_of(&error) };
                HttpError::new(kind, error)
            }),
            Err(elapsed) => Err(HttpError::new(HttpErrorKind::Timeout, elapsed)),
        }
    }
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        let (mut parts, body) = request.into_parts();
        parts.headers.entry(header::USER_AGENT).or_insert(USER_AGENT);
        for _ in 0..REDIRECTS_MAX {
            let answer = self.send(HttpRequest::from_parts(parts.clone(), body.clone()), deadline).await?;
            let Some(to) = redirection(&parts.method, &parts.uri, &answer) else {
                return Ok(answer.map(|body| timed(body, deadline)));
            };
            if origin(&to) != origin(&parts.uri) {
                for secret in [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION] {
                    parts.headers.remove(secret);
                }
            }
            parts.headers.remove(header::HOST);
            parts.uri = to;
        }
        Err(HttpError::new(HttpErrorKind::Unknown, io::Error::other("the server sends from one place to the next")))
    }
}

/// Returns the target of a redirect. A write is redirected only if the server asks for the same request again.
fn redirection(method: &Method, uri: &Uri, answer: &hyper::Response<Incoming>) -> Option<Uri> {
    let is_read = method == Method::GET || method == Method::HEAD;
    let is_followed = match answer.status() {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => is_read,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => false,
    };
    let to = answer.headers().get(header::LOCATION).filter(|_| is_followed)?.to_str().ok()?;
    Url::parse(&uri.to_string()).ok()?.join(to).ok()?.as_str().parse().ok()
}

/// Returns the origin, with which data meant for this server may be shared.
fn origin(uri: &Uri) -> (Option<&Scheme>, Option<&Authority>) {
    (uri.scheme(), uri.authority())
}

/// Returns the content of an answer, which has to be complete before the deadline.
fn timed(body: Incoming, deadline: Instant) -> HttpResponseBody {
    let frames = stream::try_unfold(body, move |mut body| async move {
        match timeout_at(deadline, body.frame()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(frame))) => Ok(Some((frame, body))),
            Ok(Some(Err(error))) => Err(HttpError::new(kind_of(&error), error)),
            Err(elapsed) => Err(HttpError::new(HttpErrorKind::Timeout, elapsed)),
        }
    });
    HttpResponseBody::new(StreamBody::new(frames))
}

/// Classifies an error, to decide whether to retry.
fn kind_of(error: &(dyn Error + 'static)) -> HttpErrorKind {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            if error.is_timeout() {
                return HttpErrorKind::Timeout;
            }
            if error.is_closed() || error.is_incomplete_message() || error.is_body_write_aborted() {
                return HttpErrorKind::Request;
            }
        }
        match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::TimedOut) => return HttpErrorKind::Timeout,
            Some(
                io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof,
            ) => return HttpErrorKind::Interrupted,
            _ => {}
        }
        next = error.source();
    }
    HttpErrorKind::Unknown
}

/// Returns the certificates trusted by this machine, or those named by `SSL_CERT_FILE` and `SSL_CERT_DIR`.
fn roots() -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let known = openssl_probe::probe();
    if let Some(file) = known.cert_file {
        roots.add_parsable_certificates(CertificateDer::pem_file_iter(file).map_err(io::Error::other)?.flatten());
    }
    if roots.is_empty() {
        for file in known.cert_dir.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten() {
            // Not every file there is a certificate.
            let certificates = CertificateDer::pem_file_iter(file.path()).into_iter().flatten().flatten();
            roots.add_parsable_certificates(certificates);
        }
    }
    Ok(roots)
}

/// Connects to servers, through the proxy given by `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
#[derive(Debug, Clone)]
struct Route {
    direct: HttpConnector,
    proxies: Arc<Matcher>,
}

impl Route {
    fn new() -> Self {
        let mut direct = HttpConnector::new();
        direct.enforce_http(false);
        direct.set_nodelay(true);
        direct.set_connect_timeout(Some(CONNECT_TIMEOUT));
        Self { direct, proxies: Matcher::from_env().into() }
    }
}

impl Service<Uri> for Route {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.direct.poll_ready(context).map_err(BoxError::from)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Some(proxy) = self.proxies.intercept(&to) else {
            let connecting = self.direct.call(to);
            return Box::pin(async move { Ok(connecting.await?) });
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.direct.clone());
        if let Some(secret) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(secret.clone());
        }
        let connecting = tunnel.call(to);
        Box::pin(async move { Ok(connecting.await?) })
    }
}
